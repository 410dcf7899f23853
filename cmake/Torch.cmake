# SPDX-License-Identifier: Apache-2.0
# tvm_ffi.interop.torch._native: kernels for torch's dispatcher.  runtime/torch looks torch's functions
# up in the process, so the build does not need torch.
python_add_library(torch_native MODULE WITH_SOABI
  ${PROJECT_SOURCE_DIR}/runtime/torch/dispatcher_kernels.cc
  ${PROJECT_SOURCE_DIR}/runtime/torch/module.cc
  ${PROJECT_SOURCE_DIR}/runtime/torch/operator.cc
  ${PROJECT_SOURCE_DIR}/runtime/torch/torch_api.cc)
set_target_properties(torch_native PROPERTIES
  OUTPUT_NAME _native
  CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden
  VISIBILITY_INLINES_HIDDEN ON
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/torch
  INSTALL_RPATH ${TVM_FFI_RPATH_ORIGIN}/../../lib)
target_link_libraries(torch_native PRIVATE tvm_ffi_shared tvm_ffi_platform ${CMAKE_DL_LIBS})
tvm_ffi_set_warnings(torch_native)
# The loops run over a few arguments and extents, for which vectorized code is slower.
target_compile_options(torch_native PRIVATE $<$<CONFIG:Release>:-O2> -fno-tree-vectorize)
install(TARGETS torch_native LIBRARY DESTINATION interop/torch)
