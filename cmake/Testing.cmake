# SPDX-License-Identifier: Apache-2.0
# libtvm_ffi_testing: types and functions for tests in any language, registered when the library is
# loaded.  `import tvm_ffi.testing` loads it; no target links against it.
file(GLOB TVM_FFI_TESTING_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/runtime/testing/*.cc)

add_library(tvm_ffi_testing ${TVM_FFI_SHARED} ${TVM_FFI_TESTING_SOURCES})
set_target_properties(tvm_ffi_testing PROPERTIES
  CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
  INSTALL_RPATH ${TVM_FFI_RPATH_ORIGIN})  # installed in the folder of libtvm_ffi
target_link_libraries(tvm_ffi_testing PRIVATE tvm_ffi_shared)
target_link_options(tvm_ffi_testing PRIVATE ${TVM_FFI_COMPLETE})
tvm_ffi_set_warnings(tvm_ffi_testing)
# Its functions do little, and it is in each wheel.  One file has 7 % less code than many; exports.cc
# defines a macro of the headers.
target_compile_options(tvm_ffi_testing PRIVATE $<$<CONFIG:Release>:-Os>)
set_target_properties(tvm_ffi_testing PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
set_source_files_properties(${PROJECT_SOURCE_DIR}/runtime/testing/exports.cc PROPERTIES
  SKIP_UNITY_BUILD_INCLUSION ON)

install(TARGETS tvm_ffi_testing LIBRARY DESTINATION ${TVM_FFI_LIBDIR})
