# SPDX-License-Identifier: Apache-2.0
# Installation: headers, libraries and the relocatable package that find_package(tvm_ffi) reads.
# In a wheel everything goes below the Python package, see TVM_FFI_INSTALL_ROOT.
include(CMakePackageConfigHelpers)

if(SKBUILD)
  set(TVM_FFI_INSTALL_ROOT tvm_ffi/)
  set(TVM_FFI_LIBDIR tvm_ffi/lib)
else()
  set(TVM_FFI_INSTALL_ROOT "")
  set(TVM_FFI_LIBDIR ${CMAKE_INSTALL_LIBDIR})
endif()
set(TVM_FFI_CMAKEDIR ${TVM_FFI_INSTALL_ROOT}share/cmake/tvm_ffi)

set_target_properties(tvm_ffi_header PROPERTIES EXPORT_NAME header)
set_target_properties(tvm_ffi_shared PROPERTIES EXPORT_NAME shared)
set_target_properties(tvm_ffi_static PROPERTIES EXPORT_NAME static)
set_target_properties(tvm_ffi_header PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>;$<INSTALL_INTERFACE:${TVM_FFI_INSTALL_ROOT}include>")

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${TVM_FFI_INSTALL_ROOT}include)
install(TARGETS tvm_ffi_header tvm_ffi_shared tvm_ffi_static EXPORT tvm_ffi_targets
  LIBRARY DESTINATION ${TVM_FFI_LIBDIR}
  ARCHIVE DESTINATION ${TVM_FFI_LIBDIR})
install(EXPORT tvm_ffi_targets NAMESPACE tvm_ffi:: DESTINATION ${TVM_FFI_CMAKEDIR})

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tvm_ffi-config.cmake.in
  ${PROJECT_BINARY_DIR}/tvm_ffi-config.cmake INSTALL_DESTINATION ${TVM_FFI_CMAKEDIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tvm_ffi-config-version.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tvm_ffi-config.cmake
  ${PROJECT_BINARY_DIR}/tvm_ffi-config-version.cmake DESTINATION ${TVM_FFI_CMAKEDIR})
