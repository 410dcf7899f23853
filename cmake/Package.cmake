# SPDX-License-Identifier: Apache-2.0
# Installation: headers, libraries and the relocatable CMake package for find_package(tvm_ffi).
# In the wheel, the installation prefix is the folder of the Python package.
include(CMakePackageConfigHelpers)

if(TVM_FFI_BUILD_WHEEL)
  set(TVM_FFI_LIBDIR lib)  # tvm_ffi.libinfo and the binding's run path expect this folder
  set(CMAKE_INSTALL_BINDIR lib)  # of libraries on Windows
else()
  set(TVM_FFI_LIBDIR ${CMAKE_INSTALL_LIBDIR})
endif()
set(TVM_FFI_CMAKEDIR share/cmake/tvm_ffi)

set_target_properties(tvm_ffi_header PROPERTIES EXPORT_NAME header)
set_target_properties(tvm_ffi_shared PROPERTIES EXPORT_NAME shared)
set_target_properties(tvm_ffi_static PROPERTIES EXPORT_NAME static)
set_target_properties(tvm_ffi_minimal PROPERTIES EXPORT_NAME minimal)

option(TVM_FFI_INSTALL_ARCHIVE "Install libtvm_ffi_static.a; without it, builds that link it compile it" ON)
set(TVM_FFI_ARCHIVE)
if(TVM_FFI_INSTALL_ARCHIVE)
  set(TVM_FFI_ARCHIVE tvm_ffi_minimal tvm_ffi_static)
elseif(TVM_FFI_BUILD_WHEEL)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/tvm_ffi_archive.cmake DESTINATION ${TVM_FFI_CMAKEDIR})
else()
  message(FATAL_ERROR "TVM_FFI_INSTALL_ARCHIVE=OFF needs the sources, which are in wheels only")
endif()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION include)
install(TARGETS tvm_ffi_header tvm_ffi_shared ${TVM_FFI_ARCHIVE} EXPORT tvm_ffi_targets
  LIBRARY DESTINATION ${TVM_FFI_LIBDIR}
  ARCHIVE DESTINATION ${TVM_FFI_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

if("c++" IN_LIST CMAKE_CXX_IMPLICIT_LINK_LIBRARIES)
  set(TVM_FFI_CXX_LIBRARY c++)
else()
  set(TVM_FFI_CXX_LIBRARY stdc++)
endif()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tvm_ffi-config.cmake.in
  ${PROJECT_BINARY_DIR}/tvm_ffi-config.cmake INSTALL_DESTINATION ${TVM_FFI_CMAKEDIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tvm_ffi-config-version.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMajorVersion)
configure_file(${PROJECT_SOURCE_DIR}/cmake/tvm_ffi_functions.cmake
  ${PROJECT_BINARY_DIR}/tvm_ffi_functions.cmake COPYONLY)
# The module that Python imports if the package has lost its __init__.py.
if(DEFINED SKBUILD_PLATLIB_DIR)
  install(FILES ${PROJECT_SOURCE_DIR}/src/without_package/tvm_ffi.py
    DESTINATION ${SKBUILD_PLATLIB_DIR})
endif()
install(FILES ${PROJECT_BINARY_DIR}/tvm_ffi-config.cmake
  ${PROJECT_BINARY_DIR}/tvm_ffi-config-version.cmake
  ${PROJECT_SOURCE_DIR}/cmake/tvm_ffi_functions.cmake DESTINATION ${TVM_FFI_CMAKEDIR})
install(EXPORT tvm_ffi_targets NAMESPACE tvm_ffi:: DESTINATION ${TVM_FFI_CMAKEDIR})

# The build directory is also a CMake package; tvm_ffi.libinfo uses it in a source tree.
export(EXPORT tvm_ffi_targets NAMESPACE tvm_ffi::
  FILE ${PROJECT_BINARY_DIR}/tvm_ffi_targets.cmake)

# `add_subdirectory($(tvm-ffi-config --sourcedir))` builds the runtime from sources in the wheel.
if(TVM_FFI_BUILD_WHEEL)
  install(FILES ${PROJECT_SOURCE_DIR}/CMakeLists.txt DESTINATION .)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/cmake DESTINATION .
    # Only the build of the wheel needs these files.
    PATTERN "*.py" EXCLUDE
    REGEX "/cmake/(Binding|Testing|Torch|TvmBackend|Wheel|Xla)[.]cmake$" EXCLUDE)
  set(archive ${PROJECT_BINARY_DIR}/runtime.tar)
  file(GLOB_RECURSE archived CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/runtime/*)
  list(FILTER archived EXCLUDE REGEX "/runtime/(testing|torch|tvm_backend|xla)/")
  add_custom_command(OUTPUT ${archive}
    COMMAND ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/archive_sources.py ${archive} ${archived}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    DEPENDS ${archived} ${PROJECT_SOURCE_DIR}/cmake/archive_sources.py
    COMMENT "Archive of the runtime's sources"
    VERBATIM)
  add_custom_target(tvm_ffi_sources ALL DEPENDS ${archive})
  install(FILES ${archive} DESTINATION .)
  # Cargo packages depend on the crate by path: `tvm-ffi-config --rust` prints the folder.
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/rust/src DESTINATION rust)
  install(FILES ${PROJECT_SOURCE_DIR}/rust/Cargo.toml ${PROJECT_SOURCE_DIR}/rust/build.rs
    DESTINATION rust)
endif()
