// SPDX-License-Identifier: Apache-2.0
// Tensor objects: a DLTensor after the object header, and the owner of its memory.
#ifndef TVM_FFI_RUNTIME_CORE_TENSOR_H_
#define TVM_FFI_RUNTIME_CORE_TENSOR_H_

#include <dlpack/dlpack.h>
#include <tvm/ffi/c_api.h>

#include "object.h"

namespace tvm::ffi::runtime {

struct TensorObject : TVMFFIObject, DLTensor {};

// Returns a new tensor that consumes `managed`: the deleter of `managed` runs when the tensor is
// destroyed. Does not check alignment or compactness.
Ref<TensorObject> NewTensorFromManaged(DLManagedTensorVersioned* managed);

// Returns true for read-only tensors that tensor.cc created.  Returns false for all third-party
// tensors, because nothing marks them as read-only.
bool IsReadOnly(const TVMFFIObject* object);

// Raises ValueError if ndim is out of range, an extent is negative, or the number of elements does
// not fit int64.
void CheckShape(const DLTensor& tensor, const char* where);

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_TENSOR_H_
