// SPDX-License-Identifier: Apache-2.0
// The expected hashes are from another implementation of the ABI, for the same values.
#include <doctest/doctest.h>
#include <tvm/ffi/big_int.h>
#include <tvm/ffi/extra/structural_hash.h>

#include <cmath>
#include <cstdio>
#include <limits>

#include "../runtime/small_stack.h"
#include "../runtime/threads.h"
#include "structural_ir.h"
#include "thrown.h"

namespace {

using namespace ir;

std::string Hex(uint64_t value) {
  char text[20];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(value));
  return text;
}
std::string HashOf(const Any& value) { return Hex(StructuralHash::Hash(value)); }
std::string HashOfMapped(const Any& value) { return Hex(StructuralHash::Hash(value, true)); }
std::string HashWithoutContent(const Any& value) {
  return Hex(StructuralHash::Hash(value, false, true));
}

TEST_CASE("leaves") {
  CHECK_EQ(HashOf(Any()), "000000009e3779b9");
  CHECK_EQ(HashOf(1), "000000009e3779fb");
  CHECK_EQ(HashOf(-1), "000000009e3779f9");
  CHECK_EQ(HashOf(true), "000000009e377a38");
  CHECK_EQ(HashOf(0.0), "000000009e377a7a");
  CHECK_EQ(HashOf(-0.0), "800000009e377a7a");
  CHECK_EQ(HashOf(1.0), "3ff000009e377a7a");
  CHECK_EQ(HashOf(std::numeric_limits<double>::infinity()), "7ff000009e377a7a");
  CHECK_EQ(HashOf(std::nan("")), "7ff800009e377a7a");
  CHECK_EQ(HashOf(-std::nan("7")), "7ff800009e377a7a");
  CHECK_EQ(HashOf(kFloat32), "000000009e389af9");
  CHECK_EQ(HashOf(DLDevice{kDLCUDA, 3}), "000000039e377b3a");
  CHECK_EQ(HashOf(reinterpret_cast<void*>(0x1234)), "000000009e378cea");
}

TEST_CASE("strings hash by content, except small bytes") {
  CHECK_EQ(HashOf(String("abc")), "000000009e9aec2b");
  CHECK_EQ(HashOf(String(std::string("abc"))), "000000009e9aec2b");
  CHECK_EQ(HashOf(String("hello world")), "00000000def11395");
  CHECK_EQ(HashOf(SmallBytes("")), "000000009e377cb0");
  CHECK_EQ(HashOf(SmallBytes("abc")), "000000009e9adf11");
  CHECK_EQ(HashOf(HeapBytes("abc")), "000000009e9aece8");
}

TEST_CASE("big integers") {
  BigInt two_to_63 = BigInt(1) << 63;
  CHECK_EQ(HashOf(two_to_63), "000000009e3794fc");
  CHECK_EQ(HashOf(-two_to_63 - 1), "000000009e3790b0");
  CHECK_EQ(HashOf(BigInt(1) << 100), "000000009e378d22");
}

TEST_CASE("containers") {
  CHECK_EQ(HashOf(Items{}), "e417f0b0ed7acef8");
  CHECK_EQ(HashOf(Items{1, 2}), "272e749e71a30b7d");
  CHECK_EQ(HashOf(Items{1, Items{2, "x"}, nullptr}), "a661f525f233a4fc");
  CHECK_EQ(HashOf(List<Any>{}), "d71de715fb09aaea");
  CHECK_EQ(HashOf(List<Any>{1, 2}), "8b9192678514b352");
  CHECK_EQ(HashOf(Shape{}), "cbaba4b74542e99e");
  CHECK_EQ(HashOf(Shape{1, 2}), "03f3ccfb7a943717");
  CHECK_EQ(HashOf(Table{}), "a24a465a2abdfd20");
  CHECK_EQ(HashOf(Table{{"a", 1}}), "789957ce07a4a2ca");
}

TEST_CASE("maps do not depend on insertion order") {
  CHECK_EQ(HashOf(Table{{1, 2}, {3, 4}}), "7465eb63e1f3b655");
  CHECK_EQ(HashOf(Table{{3, 4}, {1, 2}}), "7465eb63e1f3b655");
  CHECK_EQ(HashOf(Dict<Any, Any>{{1, 2}, {3, 4}}), "a644639488dd2f87");
  ObjectRef x = Var("x"), y = Var("y");
  CHECK_EQ(HashOfMapped(Table{{1, x}, {2, y}, {3, x}}), "f713c41a885d563f");
  CHECK_EQ(HashOfMapped(Table{{3, x}, {2, y}, {1, x}}), "f713c41a885d563f");
}

TEST_CASE("values of keys with equal hashes do not count") {
  String zero("\0", 1);  // its hash equals the hash of the empty string
  CHECK_EQ(HashOf(Table{{"", 2}, {zero, 4}}), "196e6e785c2033e2");
  CHECK_EQ(HashOf(Table{{"", 8}, {zero, 9}}), "196e6e785c2033e2");
  CHECK_EQ(HashOf(Table{{"", 2}, {zero, 4}, {5, 6}}), "3ce51eb8afefb6c6");
  CHECK_EQ(HashOf(Table{{"", New<UnsupportedObj>()}, {zero, 4}, {5, 6}}), "3ce51eb8afefb6c6");
}

TEST_CASE("keys of maps") {
  CHECK_EQ(HashOf(Table{{SmallBytes("ab"), 1}}), "789957ce004c9aa3");
  // By bits: two NaNs with different bits are two keys.
  CHECK_EQ(HashOf(Table{{std::nan(""), 1}}), "e2a757ce07a8ed40");
  CHECK(HashOf(Table{{-std::nan(""), 1}}) != "e2a757ce07a8ed40");
  // The second and later occurrences of an object are hashed by number.
  ObjectRef key = Call("f", 1);
  Table map{{key, 1}};
  CHECK_EQ(HashOf(map), "a24a465a2abdfd21");
  CHECK_EQ(HashOf(Table{{key, New<UnsupportedObj>()}}), "a24a465a2abdfd21");
  CHECK_EQ(HashOf(Items{key, map}), "7fbc4f5469c057d3");
  CHECK_EQ(HashOf(Items{map, key, map}), "45bcac63cf00e678");
  // Containers are never numbered.
  Items items{1, 2};
  CHECK_EQ(HashOf(Items{items, Table{{items, 1}}}), "ce88e2ef3b3f5133");
  ObjectRef x = Var("x"), y = Var("y");
  CHECK_EQ(HashOf(Func(Items{x, y}, Table{{y, 2}, {x, 1}})), "d224b2c3ae7402dc");
  CHECK_EQ(HashOf(Func(Items{x, y}, Table{{x, 1}, {y, 2}})), "d224b2c3ae7402dc");
}

TEST_CASE("objects are hashed by their fields") {
  CHECK_EQ(HashOf(Call("f", Items{1, 2})), "cc5685f62bc6167a");
  CHECK_EQ(HashOf(Call("f", Items{1, 2}, /*span=*/7)), "cc5685f62bc6167a");
  CHECK_EQ(HashOf(New<AttrCallObj>("f", 1, "attr")), "a72b9e9519081fbb");
  CHECK_EQ(HashOf(Type(1)), "48b6155165477276");
  CHECK_EQ(HashOf(New<OperatorObj>("add")), "af2d8f23abc93236");
}

TEST_CASE("variables in definition regions") {
  ObjectRef x = Var("x"), y = Var("y");
  CHECK_EQ(HashOf(Func(Items{x}, x)), "6de5ee621ccfb26d");
  CHECK_EQ(HashOf(Func(Items{y}, y)), "6de5ee621ccfb26d");
  CHECK_EQ(HashOf(Func(Items{x, y}, Items{y, x})), "cf5d05a9af449bf7");
  CHECK_EQ(HashOf(Loop(Items{x, y}, Items{y, x})), "258b0da42a387287");
  CHECK_EQ(HashOf(Items{Func(Items{x}, x), x}), "31f67c21a9d64e25");
}

TEST_CASE("variables in types of variables") {
  ObjectRef n = Var("n");
  ObjectRef v = Var("v", n);
  CHECK_EQ(HashOf(Func(Items{v}, Items{v, n})), "f4fc05b734ace4eb");
  CHECK_EQ(HashOf(Func(Items{Buffer(n)}, n)), "58d80f35a8e9842f");
  CHECK_EQ(HashOf(Loop(Items{n, v}, Items{v, n})), "2b4540cb96043b02");
  CHECK_EQ(HashOf(Loop(Items{n, Buffer(n)}, n)), "a6d6ab3b38d12dfd");
  // A Simple region does not define them.
  ObjectRef other = Var("v", Var("n"));
  CHECK_EQ(HashOf(Func(v, 1)), HashOf(Func(other, 1)));
  CHECK(HashOf(Loop(v, 1)) != HashOf(Loop(other, 1)));
}

TEST_CASE("regions") {
  // Returns true if two functions that differ in the variable `inner` hash equally: then the region
  // defines it.
  auto defines = [](auto wrap) {
    ObjectRef one = Var("inner"), other = Var("inner");
    return StructuralHash::Hash(wrap(one)) == StructuralHash::Hash(wrap(other));
  };
  CHECK(defines([](ObjectRef v) { return Loop(Call(v, 1), 1); }));
  CHECK(!defines([](ObjectRef v) { return Loop(Var("v", Call(v, 1)), 1); }));
  CHECK(defines([](ObjectRef v) { return Loop(Var("v", Func(v, 1)), 1); }));
  CHECK(defines([](ObjectRef v) { return Loop(Func(Var("v", v), 1), 1); }));
  CHECK(defines([](ObjectRef v) { return Func(Loop(Var("v", v), 1), 1); }));
  CHECK(defines([](ObjectRef v) { return Loop(Func(1, v), 1); }));
  CHECK(!defines([](ObjectRef v) { return Loop(Func(1, Var("v", v)), 1); }));
  CHECK(!defines([](ObjectRef v) { return Func(1, v); }));
}

TEST_CASE("variables outside definition regions") {
  ObjectRef x = Var("x"), y = Var("y");
  CHECK_EQ(StructuralHash::Hash(x), reinterpret_cast<uintptr_t>(x.get()));
  CHECK(HashOf(Items{x}) != HashOf(Items{y}));
  // A variable that is used before its definition is hashed by its address.
  CHECK(HashOf(Items{x, Func(x, x)}) != HashOf(Items{y, Func(y, y)}));
}

TEST_CASE("mapped free variables") {
  ObjectRef x = Var("x"), y = Var("y");
  CHECK_EQ(HashOfMapped(x), "26d0020dac90a95b");
  CHECK_EQ(HashOfMapped(Items{x, x}), "397df0c4fce77856");
  CHECK_EQ(HashOfMapped(Items{x, y}), "397df0c4fce77857");
  CHECK_EQ(HashOfMapped(Items{y, x, y}), "add65fba3f6a919d");
  CHECK_EQ(HashOfMapped(Items{x, y, x}), "add65fba3f6a919d");
  CHECK_EQ(HashOfMapped(Table{{"k", x}, {1, Table{{x, 2}}}}), "9ae06916f792828e");
}

TEST_CASE("shared nodes") {
  ObjectRef d = Let(1), e = Let(1), x = Var("x"), y = Var("y");
  CHECK_EQ(HashOf(d), "401774425804ada4");
  CHECK_EQ(HashOf(Items{d, d}), "b17879f29fab4214");
  CHECK_EQ(HashOf(Items{d, e}), "b17879f29fab4217");
  CHECK_EQ(HashOf(Items{Let(d), d}), "423cb12cc519b8fe");
  CHECK_EQ(HashOf(Func(Items{x, y}, Items{Let(x), Let(y)})), "ddacaab46d9b4ed8");
}

TEST_CASE("tensors") {
  CHECK_EQ(HashOf(NewTensor({2, 3}, kFloat32)), "841936fcf0bba641");
  CHECK_EQ(HashOf(NewTensor({5}, kInt8)), "530936ca72137ab3");
  CHECK_EQ(HashOf(NewTensor({3}, {kDLInt, 4, 1})), "530936ca0c001b90");
  CHECK_EQ(HashOf(NewTensor({}, kFloat32)), "647948b10cff6de9");
  CHECK_EQ(HashOf(NewTensor({0, 4}, kFloat32)), "841936fc9bc5b2e8");
  CHECK_EQ(HashWithoutContent(NewTensor({2, 3}, kFloat32)), "530936ca0dd10564");
  CHECK_EQ(HashWithoutContent(NewTensor({2}, kFloat32, {kDLCUDA, 0})), "647948b13922aef9");
}

TEST_CASE("tensors without readable content") {
  CHECK_EQ(Thrown([] { StructuralHash::Hash(NewTensor({2}, kFloat32, {kDLCUDA, 0})); }),
           "InternalError: Check failed: tensor.device().device_type == kDLCPU (2 vs. 1) : can "
           "only hash CPU tensor");
  Tensor strided = NewTensor({4, 6}, kFloat32).as_strided({2, 3}, {6, 1});
  CHECK_EQ(Thrown([&] { StructuralHash::Hash(strided); }),
           "InternalError: Check failed: (tensor.IsContiguous()) is false: Can only hash "
           "contiguous tensor");
  CHECK_EQ(HashWithoutContent(strided), "530936ca0dd10564");
}

TEST_CASE("content of tensors starts after the byte offset") {
  Tensor tensor = NewTensor({5}, kInt8);
  auto* raw = const_cast<DLTensor*>(tensor.GetDLTensorPtr());
  auto* memory = static_cast<char*>(std::calloc(1, 7));
  std::memcpy(memory + 2, raw->data, 5);
  std::free(raw->data);
  raw->data = memory;
  raw->byte_offset = 2;
  CHECK_EQ(HashOf(tensor), "530936ca72137ab3");
}

TEST_CASE("unsupported types") {
  const char* text = " is not set for type `test.structural.Un";
  CHECK_EQ(Thrown([] { StructuralHash::Hash(New<UnsupportedObj>()); }),
           std::string("TypeError: _type_s_eq_hash_kind") + text +
               "supported`, so StructuralHash is not supported for this type");
  CHECK_EQ(Thrown([] { StructuralHash::Hash(Items{Call(New<UndescribedObj>(), 1)}); }),
           std::string("TypeError: Type metadata") + text +
               "described`, so StructuralHash is not supported for this type");
  CHECK_EQ(Thrown([] { StructuralHash::Hash(Function::FromTyped([] {})); }),
           "TypeError: Type metadata is not set for type `ffi.Function`, so StructuralHash is not "
           "supported for this type");
}

// ---- Hooks ------------------------------------------------------------------------------------

// Hashes `a` in the region, then `b`.
void UseHook(TVMFFIDefRegionKind region) {
  hooks.hash = [region](ObjectRef self, int64_t hash, HashChild hash_child) {
    const auto* hooked = self.as<HookedObj>();
    return hash_child(hooked->b, hash_child(hooked->a, hash, region), kTVMFFIDefRegionKindNone);
  };
}

TEST_CASE("hooks select the hashed values") {
  ObjectRef x = Var("x"), y = Var("y"), n = Var("n");
  ObjectRef v = Var("v", n);
  UseHook(kTVMFFIDefRegionKindNone);
  CHECK_EQ(HashOf(Hooked(1, 2)), "e8dbe7d17036717c");
  CHECK_EQ(HashOf(Items{Hooked(1, 2)}), "c3c9e08945fa9348");
  CHECK_EQ(HashOfMapped(Items{Hooked(x, y), y}), "dc4fabb085fc9ba9");
  UseHook(kTVMFFIDefRegionKindPattern);
  CHECK_EQ(HashOf(Hooked(Items{x, y}, Items{y, x})), "28fac97beb5a3126");
  CHECK_EQ(HashOf(Hooked(v, n)), "7e361c8d80ce44ab");
  UseHook(kTVMFFIDefRegionKindSimple);
  CHECK_EQ(HashOf(Hooked(Items{x, y}, Items{y, x})), "28fac97beb5a3126");
  CHECK_EQ(HashOf(Hooked(Items{n, v}, Items{v, n})), "4029efa5fc4c4282");
  hooks.hash = [](ObjectRef, int64_t, HashChild) { return 42; };
  CHECK_EQ(HashOf(Hooked(1, 2)), "000000000000002a");
  CHECK_EQ(HashOf(Items{Hooked(1, 2)}), "db15d8d8d533229a");
}

TEST_CASE("hooks of variables and shared nodes") {
  auto var = [] { return New<HookedVarObj>(1); };
  auto let = [] { return New<HookedLetObj>(1); };
  CHECK_EQ(HashOfMapped(var()), "7668059ff94b7a09");
  CHECK_EQ(HashOfMapped(Items{var(), var()}), "bb42f53ed646b47b");
  CHECK_EQ(HashOf(let()), "29454b9f6a4bb770");
  CHECK_EQ(HashOf(Items{let(), let()}), "ec2a1e1697b51e4a");
  ObjectRef free = var();
  CHECK_EQ(StructuralHash::Hash(free), reinterpret_cast<uintptr_t>(free.get()));
}

TEST_CASE("hooks that fail") {
  hooks.hash = [](ObjectRef, int64_t, HashChild) -> int64_t {
    TVM_FFI_THROW(ValueError) << "from the hook";
    TVM_FFI_UNREACHABLE();
  };
  CHECK_EQ(Thrown([] { StructuralHash::Hash(Items{Hooked(1, 2)}); }), "ValueError: from the hook");
  hooks.hash = [](ObjectRef, int64_t, HashChild) { return 1; };
  CHECK_EQ(HashOf(Hooked(1, 2)), "0000000000000001");
}

TEST_CASE("errors caught by a hook leave no trace") {
  auto hash_b = [](ObjectRef self, int64_t hash, HashChild hash_child) {
    return hash_child(self.as<HookedObj>()->b, hash, kTVMFFIDefRegionKindNone);
  };
  auto fail_on_a = [hash_b](ObjectRef self, int64_t hash, HashChild hash_child) {
    Items deep{1, Items{self.as<HookedObj>()->a}};
    CHECK(Thrown([&] { hash_child(deep, hash, kTVMFFIDefRegionKindSimple); }).find("TypeError") ==
          0);
    return hash_b(self, hash, hash_child);
  };
  ObjectRef x = Var("x"), y = Var("y");
  Items value{Func(x, 1), Hooked(New<UnsupportedObj>(), Items{x, y})};
  hooks.hash = hash_b;
  std::string expected = HashOf(value);
  hooks.hash = fail_on_a;
  CHECK_EQ(HashOf(value), expected);
}

TEST_CASE("callbacks kept after the hook") {
  HashChild kept;
  hooks.hash = [&kept](ObjectRef, int64_t hash, HashChild hash_child) {
    kept = hash_child;
    return hash;
  };
  StructuralHash::Hash(Hooked(1, 2));
  CHECK_EQ(Thrown([&] { kept(1, 0, 0); }),
           "RuntimeError: the callback of a structural hook was called after the comparison or "
           "hash that called the hook had ended");
}

TEST_CASE("hooks that change containers") {
  List<Any> list{Hooked(0, 0), 1, 2, 3};
  Dict<Any, Any> dict{{1, Hooked(0, 0)}, {2, 5}, {3, 6}, {4, 7}, {5, 8}, {6, 9}};
  hooks.hash = [&](ObjectRef, int64_t, HashChild) {
    list.clear();
    dict.clear();
    return 1;
  };
  // The items are erased when the walk continues; it copied the pairs before.
  CHECK_EQ(HashOf(list), "2a5cd851246d351b");
  CHECK(list.empty());
  CHECK_EQ(HashOf(dict), HashOf(Dict<Any, Any>{}));
  dict = Dict<Any, Any>{{1, Hooked(0, 0)}, {2, 5}, {3, 6}, {4, 7}, {5, 8}, {6, 9}};
  CHECK_EQ(HashOf(dict), "4c60b5cd93eb5db1");
  CHECK(dict.empty());
}

// ---- Sharing, depth, threads --------------------------------------------------------------------

TEST_CASE("shared children are walked once") {
  Any items = Items{1}, map = Table{{1, 1}}, call = Call(1, 1);
  for (int i = 0; i < 64; ++i) {
    items = Items{items, items};
    map = Table{{1, map}, {2, map}};
    call = Call(call, call);
  }
  // Takes a hundred years if each is walked twice.
  CHECK(HashOf(items) != HashOf(map));
  CHECK(HashOf(call) != HashOf(map));
}

// A field whose getter creates a new value each time.
class MakerObj : public Object {
 public:
  int64_t number;
  explicit MakerObj(int64_t number) : number(number) {}
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.structural.Maker", MakerObj, Object);
};

int MakeCall(void* field, TVMFFIAny* result) {
  Any made = Items{Call("f", *static_cast<int64_t*>(field))};
  *result = detail::AnyUnsafe::MoveAnyToTVMFFIAny(std::move(made));
  return 0;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<MakerObj>(refl::init(false));
  TVMFFIFieldInfo info{};
  info.name = refl::AsByteArray("call");
  info.size = sizeof(int64_t);
  info.alignment = alignof(int64_t);
  info.offset = sizeof(TVMFFIObject);
  info.getter = &MakeCall;
  info.field_static_type_index = kTVMFFIAny;
  TVMFFITypeRegisterField(MakerObj::_GetOrAllocRuntimeTypeIndex(), &info);
}

TEST_CASE("values created by getters are not mistaken for one another") {
  auto makers = [](int64_t changed) {
    Items items;
    for (int64_t i = 0; i < 40; ++i) items.push_back(New<MakerObj>(i == changed ? 100 : i));
    return items;
  };
  std::string all_different = HashOf(makers(-1));
  CHECK_EQ(HashOf(makers(-1)), all_different);
  for (int64_t i = 0; i < 40; ++i) CHECK(HashOf(makers(i)) != all_different);
}

TEST_CASE("deep nesting needs no machine stack") {
  Tower high(100000), higher(100001);
  OnSmallStack([&] { CHECK(HashOf(high.top()) != HashOf(higher.top())); });
}

TEST_CASE("nesting is limited") {
  Tower tower((size_t{1} << 20) + 1);
  const char* text =
      "ValueError: the value is nested deeper than 1048576 levels, or contains itself";
  OnSmallStack([&] {
    CHECK_EQ(Thrown([&] { StructuralHash::Hash(tower.top()); }), text);
    CHECK(!HashOf(tower.top()[0]).empty());
  });
}

TEST_CASE("values that contain themselves") {
  List<Any> list{1};
  list.push_back(Dict<Any, Any>{{1, list}});
  CHECK_EQ(Thrown([&] { StructuralHash::Hash(list); }),
           "ValueError: the value is nested deeper than 1048576 levels, or contains itself");
  list.clear();
}

TEST_CASE("threads") {
  ObjectRef x = Var("x"), y = Var("y");
  Items parts{Func(Items{x, y}, Items{y, x}), Table{{1, Let(1)}}, Items{1, 2}};
  std::string expected = HashOf(parts);
  RunTogether(8, [&](int) {
    for (int i = 0; i < 200; ++i) CHECK_EQ(HashOf(parts), expected);
  });
}

TEST_CASE("global function") {
  Function hash = Function::GetGlobalRequired("ffi.StructuralHash");
  CHECK_EQ(Hex(static_cast<uint64_t>(hash("abc", false, false).cast<int64_t>())),
           "000000009e9aec2b");
  CHECK_EQ(Hex(static_cast<uint64_t>(hash(List<Any>{1, 2}, false, false).cast<int64_t>())),
           "8b9192678514b352");
  CHECK_EQ(StructuralHash()(Items{1, 2}), 0x272e749e71a30b7d);
}

}  // namespace
