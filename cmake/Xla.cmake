# SPDX-License-Identifier: Apache-2.0
# libtvm_ffi_xla: XLA custom calls.  `tvm_ffi.interop.jax` loads it; no target links against it.
# runtime/xla declares XLA's structs itself, so the build does not need XLA.
add_library(tvm_ffi_xla SHARED
  ${PROJECT_SOURCE_DIR}/runtime/xla/call_arguments.c
  ${PROJECT_SOURCE_DIR}/runtime/xla/call_attributes.c
  ${PROJECT_SOURCE_DIR}/runtime/xla/call_tvm_ffi.c
  ${PROJECT_SOURCE_DIR}/runtime/xla/device_memory.c
  ${PROJECT_SOURCE_DIR}/runtime/xla/named_function.c
  ${PROJECT_SOURCE_DIR}/runtime/xla/xla_error.c
  ${PROJECT_SOURCE_DIR}/runtime/xla/xla_values.c)
set_target_properties(tvm_ffi_xla PROPERTIES
  C_STANDARD 11 C_VISIBILITY_PRESET hidden LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
  INSTALL_RPATH ${TVM_FFI_RPATH_ORIGIN})  # installed in the folder of libtvm_ffi
target_link_libraries(tvm_ffi_xla PRIVATE tvm_ffi_shared)
target_link_options(tvm_ffi_xla PRIVATE ${TVM_FFI_COMPLETE})
tvm_ffi_set_warnings(tvm_ffi_xla)

# A call executes a few instructions in most of the files, so the files are optimized together.
include(CheckIPOSupported)
check_ipo_supported(RESULT TVM_FFI_IPO OUTPUT TVM_FFI_IPO_REASON LANGUAGES C)
set_target_properties(tvm_ffi_xla PROPERTIES INTERPROCEDURAL_OPTIMIZATION ${TVM_FFI_IPO})
# The loops run over a few arguments and extents, for which vectorized code is slower.
target_compile_options(tvm_ffi_xla PRIVATE -fno-tree-vectorize)

install(TARGETS tvm_ffi_xla LIBRARY DESTINATION ${TVM_FFI_LIBDIR})
