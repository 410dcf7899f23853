// SPDX-License-Identifier: Apache-2.0
// Modules of kind "cuda_driver": kernels in PTX, a cubin or a fatbin, run by the CUDA driver.
//
//   pytvmffi.CUDAModuleCreate(image, format, kernels) -> Module
//     image    Bytes
//     format   "ptx", "cubin", "fatbin", or "" for what the bytes are
//     kernels  Array of [name, symbol, parameters, launch, fixed]: two texts, two Arrays of texts,
//              a Map from text to int; signature.h has the words
//   ffi.Module.load_from_bytes.cuda_driver(bytes) -> Module
//
// The kind is not "cuda": TVM's runtime registers a loader of that name and format of its own.
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_CUDA_MODULE_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_CUDA_MODULE_H_

namespace tvm::ffi::extra {

// Called from dynamic_loading.cc.
void RegisterCudaModules();

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_CUDA_MODULE_H_
