// SPDX-License-Identifier: Apache-2.0
// Unchecked access to the objects in values.  The caller must have checked the type of the value.
#ifndef TVM_FFI_RUNTIME_EXTRA_WALK_VALUE_ACCESS_H_
#define TVM_FFI_RUNTIME_EXTRA_WALK_VALUE_ACCESS_H_

#include <tvm/ffi/container/map_base.h>
#include <tvm/ffi/container/seq_base.h>
#include <tvm/ffi/reflection/accessor.h>

#include "walk/object_lock.h"

namespace tvm::ffi::extra {

inline const Object* ObjectOf(const Any& value) {
  return detail::AnyUnsafe::RawObjectPtrFromAnyAfterCheck<Object>(value);
}

// Returns the sequence object of an Array or List.
inline const SeqBaseObj* SequenceOf(const Any& value) {
  return detail::AnyUnsafe::RawObjectPtrFromAnyAfterCheck<SeqBaseObj>(value);
}

// Returns the table object of a Map or Dict.
inline const MapBaseObj* TableOf(const Any& value) {
  return detail::AnyUnsafe::RawObjectPtrFromAnyAfterCheck<MapBaseObj>(value);
}

inline size_t SizeOfSequence(const Any& value) {
  ObjectLock lock(ObjectOf(value));
  return SequenceOf(value)->size();
}

inline size_t SizeOfTable(const Any& value) {
  ObjectLock lock(ObjectOf(value));
  return TableOf(value)->size();
}

// Returns the value of a field.  If the getter creates a new object, the result is the only owner
// of the object.
inline Any ReadField(const Object* object, const TVMFFIFieldInfo* field) {
  ObjectLock lock(object);
  return reflection::FieldGetter(field)(object);
}

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_WALK_VALUE_ACCESS_H_
