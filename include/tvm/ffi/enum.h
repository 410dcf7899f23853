// SPDX-License-Identifier: Apache-2.0
// Enum: base of enumerations whose instances are objects shared between languages.
//
// A type's instances live in an EnumState, the type's entry in the attribute column
// "__ffi_enum__".  Including this header registers the types when the library is loaded.
#ifndef TVM_FFI_ENUM_H_
#define TVM_FFI_ENUM_H_

#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/reflection/accessor.h>

namespace tvm {
namespace ffi {

class Enum;

// An instance of an enum: one object for each, equal only to itself.
class EnumObj : public Object {
 public:
  int64_t _int_index = 0;
  String _str_index;

  EnumObj() = default;
  EnumObj(int64_t int_index, String str_index)
      : _int_index(int_index), _str_index(std::move(str_index)) {}

  // The instance with this index.  Cls is the class of the objects, or of references to them;
  // ValueError when it has no such instance.
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

// The integer index is the value.
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

// The string index is the value.
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

// All instances of one type.
class EnumStateObj : public Object {
 public:
  List<ObjectRef> entries;                   // in order of definition
  Dict<Any, ObjectRef> indexes;              // entries by integer and by string
  Dict<String, Dict<ObjectRef, Any>> attrs;  // for each attribute: its value by entry

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

static_assert(sizeof(EnumObj) == 48 && sizeof(IntEnumObj) == 48 && sizeof(StrEnumObj) == 48 &&
                  sizeof(EnumStateObj) == 48,
              "read by other libraries");

namespace detail {

[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowNoEnumInstance(int32_t type_index,
                                                              const std::string& index) {
  TVM_FFI_THROW(ValueError) << "Enum `" << TypeIndexToTypeKey(type_index)
                            << "` has no instance with index " << index;
  TVM_FFI_UNREACHABLE();
}

// The type's state; nullptr when it has no instances yet.
inline const EnumStateObj* FindEnumState(int32_t type_index) {
  static const TVMFFITypeAttrColumn* column;
  const TVMFFIAny* state = FindAttrIn(&column, type_attr::kEnumState.name, type_index);
  if (state == nullptr || !HoldsInstance<EnumStateObj>(state)) return nullptr;
  return ObjectUnsafe::RawObjectPtrFromUnowned<EnumStateObj>(state->v_obj);
}

// The instance with this index, an int or a string, or a null reference.
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
