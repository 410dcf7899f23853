// SPDX-License-Identifier: Apache-2.0
// Conversion hooks ("__ffi_convert__") of the built-in types, for fields and parameters that
// receive a value of another type, such as a List for an Array.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/enum.h>
#include <tvm/ffi/reflection/registry.h>

#include "registration.h"

namespace tvm::ffi {
namespace {

template <typename Class, typename Ref>
void Convert() {
  reflection::TypeAttrDef<Class>().template def_convert<Ref>();
}

}  // namespace

void extra::RegisterConversions() {
  Convert<Object, ObjectRef>();
  Convert<detail::StringObj, String>();
  Convert<detail::BytesObj, Bytes>();
  Convert<ErrorObj, Error>();
  Convert<FunctionObj, Function>();
  Convert<ShapeObj, Shape>();
  Convert<TensorObj, Tensor>();
  Convert<ArrayObj, Array<Any>>();
  Convert<MapObj, Map<Any, Any>>();
  Convert<ListObj, List<Any>>();
  Convert<DictObj, Dict<Any, Any>>();
  Convert<IntEnumObj, IntEnum>();
  Convert<StrEnumObj, StrEnum>();
}

}  // namespace tvm::ffi
