// SPDX-License-Identifier: Apache-2.0
// Enum: base class of enumerations whose instances are objects that all languages share.
//
// Each enumeration type has an EnumState object, which lists the instances; it is the value of the
// type in the attribute column "__ffi_enum__".  A library that includes this header registers the
// types ffi.Enum, ffi.IntEnum, ffi.StrEnum and ffi.EnumState when it is loaded.
#ifndef TVM_FFI_ENUM_H_
#define TVM_FFI_ENUM_H_

#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/reflection/accessor.h>

namespace tvm {
namespace ffi {

class Enum;

// An instance of an enumeration.  The instance is a single object, so it is equal only to itself.
class EnumObj : public Object {
 public:
  int64_t _int_index = 0;
  String _str_index;

  EnumObj() = default;
  EnumObj(int64_t int_index, String str_index)
      : _int_index(int_index), _str_index(std::move(str_index)) {}

  // Returns the instance of an enumeration with this index.  Cls is the object class or the
  // reference class of the enumeration.  Throws ValueError if no instance has the index.
  template <typename Cls>
  static auto _GetByIntIndex(int64_t index);
  template <typename Cls>
  static auto _GetByStrIndex(const String& index);
  static Enum _GetByIntIndex(int32_t type_index, int64_t index);
  static Enum _GetByStrIndex(int32_t type_index, const String& index);

  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindUniqueInstance;
  TVM_FFI_DECLARE_OBJECT_INFO("ffi.Enum", EnumObj, Object);
};

// Reference to an EnumObj.
class Enum : public ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Enum, ObjectRef, EnumObj);
};

// Instance of an integer enumeration: its value is the integer index `_int_index`.
class IntEnumObj : public EnumObj {
 public:
  using EnumObj::EnumObj;
  TVM_FFI_DECLARE_OBJECT_INFO("ffi.IntEnum", IntEnumObj, EnumObj);
};

// Reference to an IntEnumObj.
class IntEnum : public Enum {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(IntEnum, Enum, IntEnumObj);
};

// Instance of a string enumeration: its value is the string index `_str_index`.
class StrEnumObj : public EnumObj {
 public:
  using EnumObj::EnumObj;
  TVM_FFI_DECLARE_OBJECT_INFO("ffi.StrEnum", StrEnumObj, EnumObj);
};

// Reference to a StrEnumObj.
class StrEnum : public Enum {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(StrEnum, Enum, StrEnumObj);
};

// The instances of one enumeration type and their attributes.
class EnumStateObj : public Object {
 public:
  List<ObjectRef> entries;                   // instances in order of definition
  Dict<Any, ObjectRef> indexes;              // instances by integer index and by string index
  Dict<String, Dict<ObjectRef, Any>> attrs;  // attribute name -> instance -> attribute value

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ffi.EnumState", EnumStateObj, Object);
};

// Reference to an EnumStateObj.
class EnumState : public ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(EnumState, ObjectRef, EnumStateObj);
};

namespace type_attr {
inline constexpr reflection::AttrKey<EnumState> kEnumState{"__ffi_enum__"};
}  // namespace type_attr

static_assert(sizeof(void*) < 8 || (sizeof(EnumObj) == 48 && sizeof(IntEnumObj) == 48 &&
                                    sizeof(StrEnumObj) == 48 && sizeof(EnumStateObj) == 48),
              "other libraries read enum objects, so their size must not change");

namespace detail {

[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowNoEnumInstance(int32_t type_index,
                                                              const std::string& index) {
  TVM_FFI_THROW(ValueError) << "Enum `" << TypeIndexToTypeKey(type_index)
                            << "` has no instance with index " << index;
  TVM_FFI_UNREACHABLE();
}

// Returns the EnumState of an enumeration type, or nullptr if no instance is registered yet.
inline const EnumStateObj* FindEnumState(int32_t type_index) {
  static const TVMFFITypeAttrColumn* column;
  const TVMFFIAny* state = FindAttrIn(&column, type_attr::kEnumState.name, type_index);
  if (state == nullptr || !HoldsInstance<EnumStateObj>(state)) return nullptr;
  return ObjectUnsafe::RawObjectPtrFromUnowned<EnumStateObj>(state->v_obj);
}

// Returns the instance with this integer or string index, or a null reference if there is no such
// instance.
inline ObjectRef FindEnumInstance(int32_t type_index, const Any& index) {
  const EnumStateObj* state = FindEnumState(type_index);
  if (state == nullptr) return ObjectRef();
  auto found = state->indexes.find(index);
  return found != state->indexes.end() ? (*found).second : ObjectRef();
}

template <typename Cls, bool = std::is_base_of_v<ObjectRef, Cls>>
struct EnumClass {
  using Object = typename Cls::ContainerType;
  using Ref = Cls;
};
template <typename Cls>
struct EnumClass<Cls, false> {
  using Object = Cls;
  using Ref = Enum;
};

}  // namespace detail

inline Enum EnumObj::_GetByIntIndex(int32_t type_index, int64_t index) {
  ObjectRef entry = detail::FindEnumInstance(type_index, index);
  if (!entry.defined()) detail::ThrowNoEnumInstance(type_index, std::to_string(index));
  return entry.as_or_throw<Enum>();
}

inline Enum EnumObj::_GetByStrIndex(int32_t type_index, const String& index) {
  ObjectRef entry = detail::FindEnumInstance(type_index, index);
  if (!entry.defined()) detail::ThrowNoEnumInstance(type_index, index);
  return entry.as_or_throw<Enum>();
}

template <typename Cls>
auto EnumObj::_GetByIntIndex(int64_t index) {
  using Class = detail::EnumClass<Cls>;
  return _GetByIntIndex(Class::Object::_GetOrAllocRuntimeTypeIndex(), index)
      .template as_or_throw<typename Class::Ref>();
}

template <typename Cls>
auto EnumObj::_GetByStrIndex(const String& index) {
  using Class = detail::EnumClass<Cls>;
  return _GetByStrIndex(Class::Object::_GetOrAllocRuntimeTypeIndex(), index)
      .template as_or_throw<typename Class::Ref>();
}

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_ENUM_H_
