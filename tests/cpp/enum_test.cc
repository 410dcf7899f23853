// SPDX-License-Identifier: Apache-2.0
#include <tvm/ffi/enum.h>
#include <tvm/ffi/memory.h>

#include "../runtime/check.h"
#include "thrown.h"

namespace {

using namespace tvm::ffi;

class ColorObj : public IntEnumObj {
 public:
  using IntEnumObj::IntEnumObj;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.cpp.Color", ColorObj, IntEnumObj);
};
class Color : public IntEnum {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Color, IntEnum, ColorObj);
};
class EmptyObj : public EnumObj {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.cpp.EmptyEnum", EmptyObj, EnumObj);
};

template <typename Member>
int64_t OffsetIn(const Object* object, const Member& member) {
  return reinterpret_cast<const char*>(&member) - reinterpret_cast<const char*>(object);
}

TEST(Types) {
  CHECK(EnumObj::_type_s_eq_hash_kind == kTVMFFISEqHashKindUniqueInstance);
  CHECK(ColorObj::_type_s_eq_hash_kind == kTVMFFISEqHashKindUniqueInstance);
  CHECK_EQ(TypeIndexToTypeKey(EnumObj::RuntimeTypeIndex()), "ffi.Enum");
  CHECK_EQ(TypeIndexToTypeKey(IntEnumObj::RuntimeTypeIndex()), "ffi.IntEnum");
  CHECK_EQ(TypeIndexToTypeKey(StrEnumObj::RuntimeTypeIndex()), "ffi.StrEnum");
  CHECK_EQ(TypeIndexToTypeKey(EnumStateObj::RuntimeTypeIndex()), "ffi.EnumState");
  Color red(make_object<ColorObj>(1, "RED"));
  CHECK(red.as<EnumObj>() != nullptr && red.as<IntEnumObj>() != nullptr);
  CHECK(red.as<StrEnumObj>() == nullptr);
}

TEST(Layout) {
  ObjectPtr<EnumObj> entry = make_object<EnumObj>();
  CHECK_EQ(OffsetIn(entry.get(), entry->_int_index), 24);
  CHECK_EQ(OffsetIn(entry.get(), entry->_str_index), 32);
  ObjectPtr<EnumStateObj> state = make_object<EnumStateObj>();
  CHECK_EQ(OffsetIn(state.get(), state->entries), 24);
  CHECK_EQ(OffsetIn(state.get(), state->indexes), 32);
  CHECK_EQ(OffsetIn(state.get(), state->attrs), 40);
}

TEST(Lookup) {
  Color red(make_object<ColorObj>(1, "RED"));
  Color blue(make_object<ColorObj>(7, "BLUE"));
  ObjectPtr<EnumStateObj> state = make_object<EnumStateObj>();
  state->entries.push_back(red);
  state->entries.push_back(blue);
  Any value = EnumState(state);
  TVMFFIByteArray name{type_attr::kEnumState, std::strlen(type_attr::kEnumState)};
  CHECK_EQ(TVMFFITypeRegisterAttr(ColorObj::RuntimeTypeIndex(), &name,
                                  detail::AnyUnsafe::TVMFFIAnyPtrFromAny(value)),
           0);
  Color found = EnumObj::_GetByIntIndex<Color>(7);
  CHECK(found.same_as(blue));
  CHECK(EnumObj::_GetByStrIndex<ColorObj>("RED").same_as(red));
  CHECK(EnumObj::_GetByIntIndex(ColorObj::RuntimeTypeIndex(), 1).same_as(red));
  CHECK(EnumObj::_GetByStrIndex(ColorObj::RuntimeTypeIndex(), "BLUE").same_as(blue));
  CHECK_EQ(Thrown([] { (void)EnumObj::_GetByIntIndex<Color>(2); }),
           "ValueError: Enum `test.cpp.Color` has no instance with index 2");
  CHECK_EQ(Thrown([] { (void)EnumObj::_GetByStrIndex<Color>("GREEN"); }),
           "ValueError: Enum `test.cpp.Color` has no instance with index GREEN");
  CHECK_EQ(Thrown([] { (void)EnumObj::_GetByIntIndex<EmptyObj>(0); }),
           "ValueError: Enum `test.cpp.EmptyEnum` has no instance with index 0");
}

}  // namespace
