// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <tvm/ffi/reflection/enum_def.h>

#include "thrown.h"

namespace {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

class ColorObj : public IntEnumObj {
 public:
  using IntEnumObj::IntEnumObj;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.cpp.Color", ColorObj, IntEnumObj);
};
class Color : public IntEnum {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Color, IntEnum, ColorObj);
};
class ModeObj : public EnumObj {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.cpp.Mode", ModeObj, EnumObj);
};
class EmptyObj : public EnumObj {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.cpp.EmptyEnum", EmptyObj, EnumObj);
};

int64_t Twice(const Any& value) { return 2 * value.cast<int64_t>(); }
constexpr refl::AttrKey<refl::NativeFunctionView<int64_t(const Any&)>> kScale{"scale"};

// This initializer runs before the class indices of this file are initialized.
TVM_FFI_STATIC_INIT_BLOCK() {
  refl::EnumDef<ColorObj>("RED", 1).set_attr("name", "red");
  refl::EnumDef<Color>("BLUE", 7).set_attr("name", "blue").set_native_fn_attr<&Twice>(kScale);
  refl::EnumDef<ModeObj>("FAST");
  refl::EnumDef<ModeObj>("SAFE");
}

template <typename Member>
int64_t OffsetIn(const Object* object, const Member& member) {
  return reinterpret_cast<const char*>(&member) - reinterpret_cast<const char*>(object);
}

TEST_CASE("types") {
  CHECK(EnumObj::_type_s_eq_hash_kind == kTVMFFISEqHashKindUniqueInstance);
  CHECK(ColorObj::_type_s_eq_hash_kind == kTVMFFISEqHashKindUniqueInstance);
  CHECK_EQ(TypeIndexToTypeKey(EnumObj::RuntimeTypeIndex()), "ffi.Enum");
  CHECK_EQ(TypeIndexToTypeKey(IntEnumObj::RuntimeTypeIndex()), "ffi.IntEnum");
  CHECK_EQ(TypeIndexToTypeKey(StrEnumObj::RuntimeTypeIndex()), "ffi.StrEnum");
  CHECK_EQ(TypeIndexToTypeKey(EnumStateObj::RuntimeTypeIndex()), "ffi.EnumState");
  Color red = EnumObj::_GetByIntIndex<Color>(1);
  CHECK((red.as<EnumObj>() != nullptr && red.as<IntEnumObj>() != nullptr));
  CHECK(red.as<StrEnumObj>() == nullptr);
}

TEST_CASE("layout") {
  ObjectPtr<EnumObj> entry = make_object<EnumObj>();
  CHECK_EQ(OffsetIn(entry.get(), entry->_int_index), 24);
  CHECK_EQ(OffsetIn(entry.get(), entry->_str_index), 32);
  ObjectPtr<EnumStateObj> state = make_object<EnumStateObj>();
  CHECK_EQ(OffsetIn(state.get(), state->entries), 24);
  CHECK_EQ(OffsetIn(state.get(), state->indexes), 32);
  CHECK_EQ(OffsetIn(state.get(), state->attrs), 40);
}

TEST_CASE("lookup") {
  Color blue = EnumObj::_GetByIntIndex<Color>(7);
  CHECK_EQ(blue->_int_index, 7);
  CHECK_EQ(std::string(blue->_str_index), "BLUE");
  CHECK_EQ(blue->type_index(), ColorObj::RuntimeTypeIndex());
  CHECK(EnumObj::_GetByStrIndex<ColorObj>("BLUE").same_as(blue));
  CHECK_EQ(EnumObj::_GetByIntIndex(ColorObj::RuntimeTypeIndex(), 1)->_str_index, "RED");
  CHECK(EnumObj::_GetByStrIndex(ColorObj::RuntimeTypeIndex(), "BLUE").same_as(blue));
  CHECK_EQ(EnumObj::_GetByStrIndex<ModeObj>("SAFE")->_int_index, 1);
  CHECK_EQ(Thrown([] { (void)EnumObj::_GetByIntIndex<Color>(2); }),
           "ValueError: Enum `test.cpp.Color` has no instance with index 2");
  CHECK_EQ(Thrown([] { (void)EnumObj::_GetByStrIndex<Color>("GREEN"); }),
           "ValueError: Enum `test.cpp.Color` has no instance with index GREEN");
  CHECK_EQ(Thrown([] { (void)EnumObj::_GetByIntIndex<EmptyObj>(0); }),
           "ValueError: Enum `test.cpp.EmptyEnum` has no instance with index 0");
}

EnumState StateOf(int32_t type_index) {
  return refl::TypeAttrColumn(type_attr::kEnumState)[type_index].cast<EnumState>();
}

TEST_CASE("state") {
  EnumState state = StateOf(ColorObj::RuntimeTypeIndex());
  CHECK_EQ(state->type_index(), EnumStateObj::RuntimeTypeIndex());
  CHECK_EQ(state->entries.size(), size_t{2});
  CHECK_EQ(state->indexes.size(), size_t{4});
  CHECK_EQ(state->attrs.size(), size_t{2});
  CHECK_EQ(state->attrs["name"][state->entries[1]].cast<std::string>(), "blue");
  auto scale = kScale.ValueFrom(state->attrs["scale"][state->entries[1]]);
  CHECK_EQ((*scale)(Any(4)), 8);
}

TEST_CASE("definition") {
  CHECK(refl::EnumDef<ColorObj>::IsDefined("RED"));
  CHECK(!refl::EnumDef<ColorObj>::IsDefined("GREEN"));
  CHECK_EQ(Thrown([] { refl::EnumDef<ColorObj>("RED", 9); }),
           "ValueError: enum `test.cpp.Color`: an instance with index 9 or name `RED` exists "
           "already");
  CHECK_EQ(Thrown([] { refl::EnumDef<ColorObj>("GREEN", 7); }),
           "ValueError: enum `test.cpp.Color`: an instance with index 7 or name `GREEN` exists "
           "already");
  CHECK_EQ(StateOf(ColorObj::RuntimeTypeIndex())->entries.size(), size_t{2});
  refl::EnumDef<ModeObj>("EXACT").set_attr("cost", 1).set_attr("cost", 2);
  EnumState modes = StateOf(ModeObj::RuntimeTypeIndex());
  CHECK_EQ(modes->attrs["cost"][modes->entries[2]].cast<int>(), 2);
  refl::TypeAttrDef<EmptyObj>().def(type_attr::kEnumState.name, 1);
  CHECK_EQ(Thrown([] { refl::EnumDef<EmptyObj>("A"); }),
           "TypeError: type attribute `__ffi_enum__` of `test.cpp.EmptyEnum`: expected "
           "`ffi.EnumState`, got `int`");
}

}  // namespace
