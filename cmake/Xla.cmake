# SPDX-License-Identifier: Apache-2.0
# libtvm_ffi_xla: custom calls of XLA.  Nothing links against it; `tvm_ffi.interop.jax` opens it.
# Built from our own declarations of XLA's structures, so nothing of XLA is needed here.
add_library(tvm_ffi_xla SHARED
  ${PROJECT_SOURCE_DIR}/runtime/xla/call_tvm_ffi.c
  ${PROJECT_SOURCE_DIR}/runtime/xla/device_memory.c)
set_target_properties(tvm_ffi_xla PROPERTIES
  C_STANDARD 11 C_VISIBILITY_PRESET hidden LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
  INSTALL_RPATH $ORIGIN)  # it lies beside libtvm_ffi
target_link_libraries(tvm_ffi_xla PRIVATE tvm_ffi_shared)
target_link_options(tvm_ffi_xla PRIVATE -Wl,--no-undefined)
tvm_ffi_set_warnings(tvm_ffi_xla)

install(TARGETS tvm_ffi_xla LIBRARY DESTINATION ${TVM_FFI_LIBDIR})
