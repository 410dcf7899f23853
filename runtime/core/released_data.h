// SPDX-License-Identifier: Apache-2.0
// Hooks for tensors that TVMFFIEnvTensorAlloc allocates, and for the data of released tensors.
#ifndef TVM_FFI_RUNTIME_CORE_RELEASED_DATA_H_
#define TVM_FFI_RUNTIME_CORE_RELEASED_DATA_H_

#include <tvm/ffi/c_api.h>

#include <atomic>
#include <cstddef>

namespace tvm::ffi::runtime {

// Called with the data of a tensor that the default allocator frees; it frees the data later, with
// platform::FreeAligned.  Null: the data is freed immediately.
extern std::atomic<void (*)(void* data, size_t size)> released_data_hook;

// Called with each tensor that TVMFFIEnvTensorAlloc returns; borrowed.  Null: not called.
extern std::atomic<void (*)(TVMFFIObject* tensor) noexcept> new_tensor_hook;

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_RELEASED_DATA_H_
