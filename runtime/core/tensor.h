// SPDX-License-Identifier: Apache-2.0
// Tensor objects: a DLTensor behind the object header, and whatever keeps its memory alive.
#ifndef TVM_FFI_RUNTIME_CORE_TENSOR_H_
#define TVM_FFI_RUNTIME_CORE_TENSOR_H_

#include <dlpack/dlpack.h>
#include <tvm/ffi/c_api.h>

#include "object.h"

namespace tvm::ffi::runtime {

struct TensorObject : TVMFFIObject, DLTensor {};

// Takes ownership of `managed`, whose deleter runs as the tensor dies.  Without the two checks
// that the C functions offer.
Ref<TensorObject> NewTensorFromManaged(DLManagedTensorVersioned* managed);

// Raises ValueError unless ndim, shape and strides describe a tensor: ndim in range, no negative
// extent, and an element count that fits int64.
void CheckDescription(const DLTensor& tensor, const char* where);

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_TENSOR_H_
