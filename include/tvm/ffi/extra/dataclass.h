// SPDX-License-Identifier: Apache-2.0
// Repr, deep copy, comparison and hash by content, for values of any type.
//
// These functions walk containers and the registered fields of objects, ancestors' fields first.
// Nesting may be deep; cycles and shared children are detected.  A type can customize each function
// with a hook, one of the type attributes below.
#ifndef TVM_FFI_EXTRA_DATACLASS_H_
#define TVM_FFI_EXTRA_DATACLASS_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/variant.h>
#include <tvm/ffi/extra/base.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/reflection/accessor.h>

#include <ostream>

namespace tvm {
namespace ffi {

// Hooks: functions that a type registers to replace the default behavior of the functions below for
// its objects.  The last argument of each hook is a function that processes a child.
// ORDER type-attr.
namespace type_attr {
// Returns the repr of an object.
inline constexpr reflection::AttrKey<
    TypedFunction<String(const Object*, const TypedFunction<String(AnyView)>&)>>
    kRepr{"__ffi_repr__"};
// Returns the hash of an object.  Required for types with kEq or kCompare, because equal objects
// must have equal hashes.
inline constexpr reflection::AttrKey<
    TypedFunction<int64_t(const Object*, const TypedFunction<int64_t(AnyView)>&)>>
    kHash{"__ffi_hash__"};
// Returns true if two objects of the type are equal.
inline constexpr reflection::AttrKey<
    TypedFunction<bool(const Object*, const Object*, const TypedFunction<bool(AnyView, AnyView)>&)>>
    kEq{"__ffi_eq__"};
// Returns a negative number, zero or a positive number for the order of two objects of the type.
// Also defines equality if the type has no kEq hook.
inline constexpr reflection::AttrKey<
    TypedFunction<int(const Object*, const Object*, const TypedFunction<int(AnyView, AnyView)>&)>>
    kCompare{"__ffi_compare__"};
}  // namespace type_attr

// Returns a deep copy of a value.  The copy shares only immutable objects with the original:
// strings, bytes, shapes, big integers and enum instances.  If the original contains several
// references to an object, the object is copied once.
// Fails: InternalError for an object whose type has no __ffi_shallow_copy__.
TVM_FFI_EXTRA_CXX_API Any DeepCopy(const Any& value);

// Returns a human-readable text such as 1, "text", (1, 2), [1, 2], {"key": 1}, type.key(field=1).
// An object that contains itself is printed as `...` inside.  If the environment variable
// TVM_FFI_REPR_WITH_ADDR is 1, the text contains the addresses of objects.
TVM_FFI_EXTRA_CXX_API String ReprPrint(const Any& value);

// Returns a hash of the content of a value; values that are equal by RecursiveEq have equal hashes.
// Fields with the flag HashOff or CompareOff are ignored.
// Fails: ValueError for a type that defines equality but no hash.
TVM_FFI_EXTRA_CXX_API int64_t RecursiveHash(const Any& value);

// Returns true if two values are equal by content.  Values of different types, such as 1 and 1.0,
// are not equal; NaN equals NaN.  Fields with the flag CompareOff are ignored.  Objects of types
// without registered fields are compared by identity.
TVM_FFI_EXTRA_CXX_API bool RecursiveEq(const Any& lhs, const Any& rhs);

// Compare the order of two values.  The first pair of different children determines the order.
// None is less than any other value.
// Fails: TypeError for values without an order, such as values of different types, NaN and
// different maps; ValueError for values that contain themselves.
TVM_FFI_EXTRA_CXX_API bool RecursiveLt(const Any& lhs, const Any& rhs);
TVM_FFI_EXTRA_CXX_API bool RecursiveLe(const Any& lhs, const Any& rhs);
TVM_FFI_EXTRA_CXX_API bool RecursiveGt(const Any& lhs, const Any& rhs);
TVM_FFI_EXTRA_CXX_API bool RecursiveGe(const Any& lhs, const Any& rhs);

// Write the text that ReprPrint returns for a value.
inline std::ostream& operator<<(std::ostream& out, const Any& value) {
  return out << ReprPrint(value);
}
inline std::ostream& operator<<(std::ostream& out, const ObjectRef& value) {
  return out << ReprPrint(Any(value));
}
template <typename... V>
std::ostream& operator<<(std::ostream& out, const Variant<V...>& value) {
  return out << ReprPrint(Any(value));
}
template <typename T>
std::ostream& operator<<(std::ostream& out, const Optional<T>& value) {
  return out << ReprPrint(Any(value));
}

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_DATACLASS_H_
