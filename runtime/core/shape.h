// SPDX-License-Identifier: Apache-2.0
// Shape objects: an immutable row of int64 behind the object header.
#ifndef TVM_FFI_RUNTIME_CORE_SHAPE_H_
#define TVM_FFI_RUNTIME_CORE_SHAPE_H_

#include <tvm/ffi/c_api.h>

#include <algorithm>
#include <vector>

#include "object.h"

namespace tvm::ffi::runtime {

struct ShapeObject : TVMFFIObject, TVMFFIShapeCell {};

inline Ref<ShapeObject> NewShape(const std::vector<int64_t>& extents) {
  Ref<ShapeObject> shape = NewObject<ShapeObject>(kTVMFFIShape, extents.size() * sizeof(int64_t));
  auto* content = reinterpret_cast<int64_t*>(shape.get() + 1);
  std::copy(extents.begin(), extents.end(), content);
  shape->data = content;
  shape->size = extents.size();
  return shape;
}

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_SHAPE_H_
