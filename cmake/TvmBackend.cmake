# SPDX-License-Identifier: Apache-2.0
# libtvm_ffi_tvm_backend: a function of Apache TVM's runtime, for processes without TVM.
# `tvm_ffi.cuda.register_tvm_loader()` loads it if the function is missing; no target links against
# it.
add_library(tvm_ffi_tvm_backend SHARED ${PROJECT_SOURCE_DIR}/runtime/tvm_backend/function_from_imports.c)
set_target_properties(tvm_ffi_tvm_backend PROPERTIES
  C_VISIBILITY_PRESET hidden LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
  INSTALL_RPATH ${TVM_FFI_RPATH_ORIGIN})  # installed in the folder of libtvm_ffi
target_link_libraries(tvm_ffi_tvm_backend PRIVATE tvm_ffi_shared)
target_link_options(tvm_ffi_tvm_backend PRIVATE ${TVM_FFI_COMPLETE})
tvm_ffi_set_warnings(tvm_ffi_tvm_backend)

install(TARGETS tvm_ffi_tvm_backend LIBRARY DESTINATION ${TVM_FFI_LIBDIR})
