// SPDX-License-Identifier: Apache-2.0
#include "torch_api.h"

#include "../platform/platform.h"

namespace tvm_ffi_torch {

TorchApi torch_api;

namespace {

namespace platform = tvm::ffi::platform;

template <typename Function>
bool Find(void* library, const char* name, Function* out) {
  *out = library == nullptr ? nullptr
                            : reinterpret_cast<Function>(platform::FindSymbol(library, name));
  return *out != nullptr;
}

}  // namespace

const char* LoadTorchApi() {
  void* const cpu = platform::FindLoadedLibrary("torch_cpu");
  void* const core = platform::FindLoadedLibrary("c10");
  void* const python = platform::FindLoadedLibrary("torch_python");
#define TVM_FFI_TORCH_FIND(name) \
  if (!Find(cpu, #name, &torch_api.name)) return #name
  TVM_FFI_TORCH_FIND(aoti_torch_library_init_impl);
  TVM_FFI_TORCH_FIND(aoti_torch_library_impl);
  TVM_FFI_TORCH_FIND(aoti_torch_delete_library_object);
  TVM_FFI_TORCH_FIND(aoti_torch_new_tensor_handle);
  TVM_FFI_TORCH_FIND(aoti_torch_delete_tensor_object);
  TVM_FFI_TORCH_FIND(aoti_torch_get_data_ptr);
  TVM_FFI_TORCH_FIND(aoti_torch_get_dim);
  TVM_FFI_TORCH_FIND(aoti_torch_get_sizes);
  TVM_FFI_TORCH_FIND(aoti_torch_get_strides);
  TVM_FFI_TORCH_FIND(aoti_torch_get_dtype);
  TVM_FFI_TORCH_FIND(aoti_torch_get_device_type);
  TVM_FFI_TORCH_FIND(aoti_torch_get_device_index);
  TVM_FFI_TORCH_FIND(aoti_torch_is_contiguous);
  TVM_FFI_TORCH_FIND(aoti_torch_empty_strided);
  TVM_FFI_TORCH_FIND(aoti_torch__reinterpret_tensor);
  TVM_FFI_TORCH_FIND(aoti_torch_copy_);
  TVM_FFI_TORCH_FIND(aoti_torch_grad_mode_is_enabled);
  TVM_FFI_TORCH_FIND(aoti_torch_device_type_cpu);
  TVM_FFI_TORCH_FIND(aoti_torch_device_type_cuda);
  TVM_FFI_TORCH_FIND(torch_delete_stable_ivalue);
#undef TVM_FFI_TORCH_FIND
  Find(platform::FindLoadedLibrary("torch_cuda"), "aoti_torch_get_current_cuda_stream",
       &torch_api.aoti_torch_get_current_cuda_stream);
  if (!Find(core, "_ZNK3c1010TensorImpl13requires_gradEv", &torch_api.requires_grad)) {
    return "c10::TensorImpl::requires_grad";
  }
  if (!Find(core, "_ZN3c104impl21dispatch_mode_enabledEv", &torch_api.is_mode_enabled)) {
    return "c10::impl::dispatch_mode_enabled";
  }
  if (!Find(core, "_ZN3c104impl28tls_is_dispatch_key_includedENS_11DispatchKeyE",
            &torch_api.is_key_included)) {
    return "c10::impl::tls_is_dispatch_key_included";
  }
  if (!Find(cpu, "_ZN5torch8autograd4impl12bump_versionERKN2at6TensorE", &torch_api.bump_version)) {
    return "torch::autograd::impl::bump_version";
  }
  if (!Find(python, "_Z16THPVariable_WrapRKN2at10TensorBaseE", &torch_api.wrap)) {
    return "THPVariable_Wrap";
  }
  return nullptr;
}

}  // namespace tvm_ffi_torch
