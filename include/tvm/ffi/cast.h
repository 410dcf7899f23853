// SPDX-License-Identifier: Apache-2.0
// GetRef and GetObjectPtr: conversion of a raw object pointer to an owned reference.
#ifndef TVM_FFI_CAST_H_
#define TVM_FFI_CAST_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/optional.h>

namespace tvm {
namespace ffi {

namespace detail {
template <typename T>
struct OptionalTarget {
  using type = T;
};
template <typename T>
struct OptionalTarget<Optional<T>> {
  using type = T;
};
}  // namespace detail

// Returns a new reference to *ptr.  If `ptr` is null, the result is std::nullopt for an Optional
// and a null reference for a nullable class; for other classes, InternalError is thrown.
template <typename RefType, typename ObjectType>
RefType GetRef(const ObjectType* ptr) {
  using Target = typename detail::OptionalTarget<RefType>::type;
  static_assert(object_ref_contains_v<Target, ObjectType>,
                "the reference type cannot hold every object of this type");
  constexpr bool kIsOptional = is_optional_type_v<RefType>;
  if (ptr == nullptr) {
    if constexpr (kIsOptional) {
      return RefType(std::nullopt);
    } else if constexpr (!Target::_type_is_nullable) {
      detail::ThrowNullReference(Target::ContainerType::_type_key);
    }
  }
  return RefType(detail::ObjectUnsafe::ObjectRefFromObjectPtr<Target>(
      detail::ObjectUnsafe::ObjectPtrFromUnowned<Object>(
          const_cast<Object*>(static_cast<const Object*>(ptr)))));
}

// Returns a new strong reference to *ptr, as an ObjectPtr to its class or to a base class.
template <typename BaseType, typename ObjectType>
ObjectPtr<BaseType> GetObjectPtr(ObjectType* ptr) {
  static_assert(std::is_base_of_v<BaseType, ObjectType>, "only up-casts are possible");
  return detail::ObjectUnsafe::ObjectPtrFromUnowned<BaseType>(static_cast<Object*>(ptr));
}

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_CAST_H_
