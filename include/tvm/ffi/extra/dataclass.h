// SPDX-License-Identifier: Apache-2.0
// Services for values of any type: text, copy, comparison and hash by content.
//
// They walk through containers and through the registered fields of objects, ancestors' fields
// first, whatever the nesting; cycles and shared parts are recognized.  Types adapt them with
// hooks, the type attributes below.
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

// ORDER type-attr.  Each hook gets a function that applies the service to a part.
namespace type_attr {
// The text of the object.
inline constexpr reflection::AttrKey<
    TypedFunction<String(const Object*, const TypedFunction<String(AnyView)>&)>>
    kRepr{"__ffi_repr__"};
// Equal objects must get equal hashes: a type with kEq or kCompare has this one, too.
inline constexpr reflection::AttrKey<
    TypedFunction<int64_t(const Object*, const TypedFunction<int64_t(AnyView)>&)>>
    kHash{"__ffi_hash__"};
// Both objects are of the type.
inline constexpr reflection::AttrKey<
    TypedFunction<bool(const Object*, const Object*, const TypedFunction<bool(AnyView, AnyView)>&)>>
    kEq{"__ffi_eq__"};
// Negative, zero or positive.  Serves for equality as well when there is no kEq.
inline constexpr reflection::AttrKey<
    TypedFunction<int(const Object*, const Object*, const TypedFunction<int(AnyView, AnyView)>&)>>
    kCompare{"__ffi_compare__"};
}  // namespace type_attr

// A copy that shares with `value` only what cannot change: plain values, strings, bytes, shapes,
// integers and enum members.  References inside the copy run as those inside the original.
// Fails: InternalError for an object whose type has no __ffi_shallow_copy__.
TVM_FFI_EXTRA_CXX_API Any DeepCopy(const Any& value);

// Text for people: 1, "text", (1, 2), [1, 2], {"key": 1}, type.key(field=1).  An object inside
// itself shows as `...`.  With the environment variable TVM_FFI_REPR_WITH_ADDR=1, objects show
// their addresses.
TVM_FFI_EXTRA_CXX_API String ReprPrint(const Any& value);

// Values that RecursiveEq finds equal have equal hashes.  Fields flagged HashOff or CompareOff do
// not count.
// Fails: ValueError for a type that defines equality but no hash.
TVM_FFI_EXTRA_CXX_API int64_t RecursiveHash(const Any& value);

// Values of different types differ, 1 and 1.0 as well; NaN equals NaN.  Fields flagged CompareOff
// do not count.  Objects of types that registered nothing are equal when they are the same.
TVM_FFI_EXTRA_CXX_API bool RecursiveEq(const Any& lhs, const Any& rhs);

// Order by the first part that differs; None comes before everything.
// Fails: TypeError for different types, NaN, different maps and what else has no order; ValueError
// for values that contain themselves.
TVM_FFI_EXTRA_CXX_API bool RecursiveLt(const Any& lhs, const Any& rhs);
TVM_FFI_EXTRA_CXX_API bool RecursiveLe(const Any& lhs, const Any& rhs);
TVM_FFI_EXTRA_CXX_API bool RecursiveGt(const Any& lhs, const Any& rhs);
TVM_FFI_EXTRA_CXX_API bool RecursiveGe(const Any& lhs, const Any& rhs);

// Streams show values as ReprPrint does.
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
