// SPDX-License-Identifier: Apache-2.0
// Array objects as the runtime itself needs them: made once, elements in the same block.
#ifndef TVM_FFI_RUNTIME_CORE_ARRAY_H_
#define TVM_FFI_RUNTIME_CORE_ARRAY_H_

#include <tvm/ffi/c_api.h>

#include <vector>

#include "object.h"
#include "value.h"

namespace tvm::ffi::runtime {

// Elements start at byte 56, right behind the cell; data_deleter is null.
struct ArrayObject : TVMFFIObject, TVMFFISeqCell {
  ~ArrayObject();
};
static_assert(sizeof(ArrayObject) == 56, "elements follow at byte 56");

Ref<ArrayObject> NewArray(std::vector<Value> elements);

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_ARRAY_H_
