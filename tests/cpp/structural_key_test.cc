// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <tvm/ffi/extra/structural_key.h>

#include <type_traits>
#include <unordered_map>

#include "structural_ir.h"
#include "thrown.h"

namespace {

using namespace ir;

const Object* ObjectIn(const Any& value) { return value.as<Object>(); }

TEST_CASE("keys are equal by content") {
  StructuralKey key(Items{1, 2}), same(Items{1, 2}), other(Items{1, 3});
  CHECK(key == key);
  CHECK(key == same);
  CHECK(!(key != same));
  CHECK(key != other);
  CHECK(!key.same_as(same));
  CHECK_EQ(static_cast<uint64_t>(key->hash_i64), 0x272e749e71a30b7d);
  CHECK_EQ(key->key.cast<Items>().size(), size_t{2});
  static_assert(!std::is_convertible_v<Any, StructuralKey>, "taking the hash is not implicit");
  static_assert(sizeof(StructuralKeyObj) == 48 && StructuralKeyObj::_type_final, "contract");
}

TEST_CASE("variables in keys") {
  ObjectRef x = Var("x"), y = Var("y");
  CHECK(StructuralKey(Func(x, x)) == StructuralKey(Func(y, y)));
  CHECK(StructuralKey(x) == StructuralKey(x));
  CHECK(StructuralKey(x) != StructuralKey(y));
}

TEST_CASE("equal hashes do not make keys equal") {
  String zero("\0", 1);  // the values in a map are not hashed
  StructuralKey key(Table{{"", 1}, {zero, 2}}), other(Table{{"", 1}, {zero, 3}});
  CHECK_EQ(key->hash_i64, other->hash_i64);
  CHECK(key != other);
  CHECK(!AnyEqual()(key, other));
}

TEST_CASE("keys of maps") {
  StructuralKey key(Items{1, 2}), same(Items{1, 2}), other(Items{1, 3});
  Table map;
  for (int i = 0; i < 20; ++i) map.Set(StructuralKey(Items{1, i}), i);
  CHECK_EQ(map.at(key).cast<int>(), 2);
  CHECK_EQ(map.at(same).cast<int>(), 2);
  CHECK_EQ(map.at(other).cast<int>(), 3);
  CHECK_EQ(map.count(Items{1, 2}), size_t{0});
  Map<StructuralKey, int> typed{{key, 1}};
  CHECK_EQ(typed.count(same), size_t{1});
  CHECK_EQ(typed.count(other), size_t{0});
  auto index = static_cast<uint64_t>(StructuralKeyObj::RuntimeTypeIndex());
  CHECK_EQ(AnyHash()(key), detail::StableHashCombine(index, static_cast<uint64_t>(key->hash_i64)));
}

TEST_CASE("keys of standard maps") {
  StructuralKey key(Items{1, 2}), same(Items{1, 2}), other(Items{1, 3});
  std::unordered_map<StructuralKey, int> map{{key, 5}};
  CHECK_EQ(map.at(same), 5);
  CHECK_EQ(map.count(other), size_t{0});
  std::unordered_map<Any, int, StructuralHash, StructuralEqual> by_content{{Items{1}, 6}};
  CHECK_EQ(by_content.at(Items{1}), 6);
}

TEST_CASE("values that cannot be keys") {
  const char* text =
      "TypeError: _type_s_eq_hash_kind is not set for type `test.structural.Unsupported`, so "
      "StructuralHash is not supported for this type";
  CHECK_EQ(Thrown([] { StructuralKey(New<UnsupportedObj>()); }), text);
  Function make = Function::GetGlobalRequired("ffi.StructuralKey");
  CHECK_EQ(Thrown([&] { make(New<UnsupportedObj>()); }), text);
  // A StructuralKey inside another value has no structural comparison.
  CHECK(Thrown([&] { StructuralHash::Hash(make(1)); }).find("TypeError: _type_s_eq_hash_kind") ==
        0);
}

TEST_CASE("global functions") {
  Function make = Function::GetGlobalRequired("ffi.StructuralKey");
  Function equal = Function::GetGlobalRequired("ffi.StructuralKeyEqual");
  Any key = make(Items{1, 2});
  CHECK(equal(key, make(Items{1, 2})).cast<bool>());
  CHECK(!equal(key, make(Items{1, 3})).cast<bool>());
  CHECK_EQ(Thrown([&] { equal(key, 1); }),
           "TypeError: Cannot treat type `int` as type `ffi.StructuralKey`");
  // C strings are converted to values.
  CHECK_EQ(ObjectIn(make("abc"))->type_index(), StructuralKeyObj::RuntimeTypeIndex());
  CHECK(equal(make("a longer text"), make(String("a longer text"))).cast<bool>());
}

TEST_CASE("reflection") {
  int32_t index = StructuralKeyObj::RuntimeTypeIndex();
  const TypeInfo* type = TVMFFIGetTypeInfo(index);
  CHECK_EQ(type->type_key_hash, uint64_t{12101687340096257897U});
  CHECK_EQ(type->num_fields, 2);
  CHECK_EQ(refl::GetFieldInfo("ffi.StructuralKey", "key")->offset, 24);
  CHECK_EQ(refl::GetFieldInfo("ffi.StructuralKey", "hash_i64")->offset, 40);
  CHECK_EQ(refl::GetFieldInfo("ffi.StructuralKey", "hash_i64")->flags, 0);
  CHECK_EQ(type->num_methods, 1);
  CHECK((type->metadata->creator != nullptr));
  CHECK_EQ(type->metadata->total_size, 48);
  // The hooks are registered as function pointers; see docs/design/key-hooks.md.
  CHECK_EQ(refl::TypeAttrColumn(type_attr::kAnyHash)[index].type_index(), kTVMFFIFunction);
  CHECK_EQ(refl::TypeAttrColumn(type_attr::kAnyEqual)[index].type_index(), kTVMFFIFunction);
  Any made = refl::GetMethod("ffi.StructuralKey", "__ffi_init__")(Items{1, 2});
  CHECK(AnyEqual()(made, StructuralKey(Items{1, 2})));
}

TEST_CASE("hook columns exist after load") {
  CHECK(refl::TypeAttrColumn(type_attr::kSEqual)[kTVMFFIArray] == nullptr);
  CHECK(refl::TypeAttrColumn(type_attr::kSHash)[kTVMFFIArray] == nullptr);
  CHECK_EQ(std::string(type_attr::kSEqual.name), "__s_equal__");
  CHECK_EQ(std::string(type_attr::kSHash.name), "__s_hash__");
}

}  // namespace
