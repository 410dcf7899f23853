// SPDX-License-Identifier: Apache-2.0
// Repr of values without children, and of tensors, devices and type keys.
#ifndef TVM_FFI_RUNTIME_EXTRA_CONTENT_REPR_TEXT_H_
#define TVM_FFI_RUNTIME_EXTRA_CONTENT_REPR_TEXT_H_

#include <tvm/ffi/container/tensor.h>

#include <string>

namespace tvm::ffi::extra {

// Appends the repr of a value without children (ChildKindOf).
void AppendLeafText(const Any& value, std::string* out);

// Appends the repr of a tensor, such as `float32[2, 3]@cpu:0`.
void AppendTensorText(const TensorObj* tensor, std::string* out);

// Appends the repr of a device, such as `cuda:1`.
void AppendDevice(DLDevice device, std::string* out);

void AppendTypeKey(int32_t type_index, std::string* out);

}  // namespace tvm::ffi::extra
#endif  // TVM_FFI_RUNTIME_EXTRA_CONTENT_REPR_TEXT_H_
