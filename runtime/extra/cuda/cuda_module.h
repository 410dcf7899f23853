// SPDX-License-Identifier: Apache-2.0
// CUDA modules (kind "cuda_driver"): kernels in PTX, a cubin or a fatbin, launched by the CUDA
// driver.
//
//   pytvmffi.CUDAModuleCreate(image, format, kernels) -> Module
//     image    Bytes
//     format   "ptx", "cubin", "fatbin", or "" to detect it
//     kernels  Array of [name, symbol, parameters, launch, fixed]: two strings, two Arrays of
//              strings, a Map from string to int; see signature.h
//   ffi.Module.load_from_bytes.cuda_driver(bytes) -> Module
//
// The kind is not "cuda", because TVM's runtime registers a loader of that name for its own format.
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_CUDA_MODULE_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_CUDA_MODULE_H_

namespace tvm::ffi::extra {

// Registers the two global functions pytvmffi.CUDAModuleCreate and
// ffi.Module.load_from_bytes.cuda_driver.  Called from dynamic_loading.cc.
void RegisterCudaModules();

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_CUDA_MODULE_H_
