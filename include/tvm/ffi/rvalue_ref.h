// SPDX-License-Identifier: Apache-2.0
// RValueRef: an object argument that the callee may move out instead of sharing it.
#ifndef TVM_FFI_RVALUE_REF_H_
#define TVM_FFI_RVALUE_REF_H_

#include <tvm/ffi/any.h>

namespace tvm {
namespace ffi {

// An argument whose object the callee may move out.  The move sets the caller's reference to null.
// A packed call passes the address of the object pointer (kTVMFFIObjectRValueRef).
template <typename RefType>
class RValueRef {
 public:
  static_assert(std::is_base_of_v<ObjectRef, RefType>, "RValueRef wraps references to objects");
  using ContainerType = typename RefType::ContainerType;

  explicit RValueRef(RefType&& data)
      : data_(detail::ObjectUnsafe::ObjectPtrFromObjectRef<Object>(std::move(data))) {}

  RefType operator*() && {
    return detail::ObjectUnsafe::ObjectRefFromObjectPtr<RefType>(std::move(data_));
  }

 private:
  // The member is mutable, so that the callee can move the object out of a const argument.
  mutable ObjectPtr<Object> data_;
  template <typename, typename>
  friend struct TypeTraits;
};

template <typename RefType>
inline constexpr bool use_default_type_traits_v<RValueRef<RefType>> = false;

template <typename RefType>
struct TypeTraits<RValueRef<RefType>> : TypeTraitsBase {
  static constexpr bool storage_enabled = false;

  static void CopyToAnyView(const RValueRef<RefType>& src, TVMFFIAny* result) {
    detail::SetPointerPayload(result, kTVMFFIObjectRValueRef, &src.data_);
  }
  static void MoveToAny(RValueRef<RefType>, TVMFFIAny*) {
    static_assert(sizeof(RefType) == 0,
                  "an RValueRef can only be an argument; an Any cannot hold one");
  }
  static std::optional<RValueRef<RefType>> TryCastFromAnyView(const TVMFFIAny* src) {
    if (src->type_index == kTVMFFIObjectRValueRef) {
      TVMFFIObject** slot = static_cast<TVMFFIObject**>(src->v_ptr);
      TVMFFIAny value;
      detail::SetObjectPayload(&value, *slot);
      if (TypeTraits<RefType>::CheckAnyStrict(&value)) {
        *slot = nullptr;
        return RValueRef<RefType>(TypeTraits<RefType>::MoveFromAnyAfterCheck(&value));
      }
      return Convert(&value);
    }
    return Convert(src);
  }
  static std::string GetMismatchTypeInfo(const TVMFFIAny* src) {
    if (src->type_index != kTVMFFIObjectRValueRef) {
      return TypeTraits<RefType>::GetMismatchTypeInfo(src);
    }
    TVMFFIAny value;
    detail::SetObjectPayload(&value, *static_cast<TVMFFIObject**>(src->v_ptr));
    return "RValueRef<" + TypeTraits<RefType>::GetMismatchTypeInfo(&value) + ">";
  }
  static std::string TypeStr() { return "RValueRef<" + TypeTraits<RefType>::TypeStr() + ">"; }
  static std::string TypeSchema() {
    return "{\"type\":\"ObjectRValueRef\",\"args\":[" + detail::TypeSchema<RefType>::v() + "]}";
  }

 private:
  static std::optional<RValueRef<RefType>> Convert(const TVMFFIAny* src) {
    std::optional<RefType> value = TypeTraits<RefType>::TryCastFromAnyView(src);
    if (!value.has_value()) return std::nullopt;
    return RValueRef<RefType>(*std::move(value));
  }
};

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_RVALUE_REF_H_
