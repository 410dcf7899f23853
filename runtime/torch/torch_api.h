/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of torch that the kernels use: torch's stable C interface, and a few exported C++
 * functions whose arguments are pointers and numbers.  They are looked up in the libraries that the
 * process has loaded, so the build does not need torch. */
#ifndef TVM_FFI_RUNTIME_TORCH_TORCH_API_H_
#define TVM_FFI_RUNTIME_TORCH_TORCH_API_H_

#include <Python.h>

#include <cstdint>

namespace tvm_ffi_torch {

// A handle is the address of an at::Tensor, which is one pointer: to the TensorImpl.
using TensorHandle = void*;
// An argument or result of a kernel: a number, a TensorHandle, or for an optional value the address
// of a cell or 0.
using StackValue = uint64_t;
using DispatcherKernel = void (*)(StackValue* stack, uint64_t num_arguments, uint64_t num_results);

struct TorchApi {
  int (*aoti_torch_library_init_impl)(const char*, const char*, const char*, uint32_t, void**);
  int (*aoti_torch_library_impl)(void*, const char*, DispatcherKernel);
  int (*aoti_torch_delete_library_object)(void*);
  int (*aoti_torch_new_tensor_handle)(TensorHandle, TensorHandle*);
  int (*aoti_torch_delete_tensor_object)(TensorHandle);
  int (*aoti_torch_get_data_ptr)(TensorHandle, void**);
  int (*aoti_torch_get_dim)(TensorHandle, int64_t*);
  int (*aoti_torch_get_sizes)(TensorHandle, int64_t**);
  int (*aoti_torch_get_strides)(TensorHandle, int64_t**);
  int (*aoti_torch_get_dtype)(TensorHandle, int32_t*);
  int (*aoti_torch_get_device_type)(TensorHandle, int32_t*);
  int (*aoti_torch_get_device_index)(TensorHandle, int32_t*);
  int (*aoti_torch_is_contiguous)(TensorHandle, bool*);
  int (*aoti_torch_empty_strided)(int64_t, const int64_t*, const int64_t*, int32_t, int32_t,
                                  int32_t, TensorHandle*);
  int (*aoti_torch__reinterpret_tensor)(TensorHandle, int64_t, const int64_t*, const int64_t*,
                                        int64_t, TensorHandle*);
  int (*aoti_torch_copy_)(TensorHandle, TensorHandle, int32_t);
  bool (*aoti_torch_grad_mode_is_enabled)();
  int32_t (*aoti_torch_device_type_cpu)();
  int32_t (*aoti_torch_device_type_cuda)();
  int (*torch_delete_stable_ivalue)(StackValue*);
  int (*aoti_torch_get_current_cuda_stream)(int32_t, void**);  // null in a build without CUDA
  bool (*requires_grad)(const void* impl);                     // c10::TensorImpl::requires_grad
  bool (*is_mode_enabled)();                                   // c10::impl::dispatch_mode_enabled
  bool (*is_key_included)(int);              // c10::impl::tls_is_dispatch_key_included
  void (*bump_version)(const void* tensor);  // torch::autograd::impl::bump_version
  PyObject* (*wrap)(const void* tensor);     // THPVariable_Wrap, which returns a new reference
};

extern TorchApi torch_api;

// Look the functions up.  Returns the name of a function that torch lacks, or null.
const char* LoadTorchApi();

}  // namespace tvm_ffi_torch
#endif  // TVM_FFI_RUNTIME_TORCH_TORCH_API_H_
