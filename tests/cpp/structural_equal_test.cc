// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <tvm/ffi/big_int.h>
#include <tvm/ffi/extra/structural_equal.h>

#include <cmath>
#include <cstring>

#include "../runtime/small_stack.h"
#include "../runtime/threads.h"
#include "structural_mismatch.h"
#include "thrown.h"

namespace {

using namespace ir;

// ---- Leaves and containers ----------------------------------------------------------------------

TEST_CASE("leaves") {
  CHECK(Same(Any(), nullptr));
  CHECK(Same(1, 1));
  CHECK(!Same(1, 2));
  CHECK(!Same(1, 1.0));
  CHECK(!Same(1, true));
  CHECK(!Same(0, nullptr));
  CHECK(Same(std::nan(""), -std::nan("7")));
  CHECK(!Same(0.0, -0.0));
  CHECK(Same(kFloat32, kFloat32));
  CHECK(!Same(kFloat32, kInt8));
  CHECK(Same(DLDevice{kDLCUDA, 1}, DLDevice{kDLCUDA, 1}));
  CHECK(!Same(DLDevice{kDLCUDA, 1}, DLDevice{kDLCUDA, 0}));
}

TEST_CASE("both forms of strings") {
  CHECK(Same(String("abc"), String(std::string("abc"))));
  CHECK(Same(String(std::string("abc")), String("abc")));
  CHECK(!Same(String("abc"), String("abd")));
  CHECK(Same(String("hello world"), String("hello world")));
  CHECK(!Same(String("hello world"), String("hello worlds")));
  CHECK(Same(SmallBytes("abc"), HeapBytes("abc")));
  CHECK(!Same(SmallBytes("abc"), HeapBytes("abd")));
  CHECK(!Same(SmallBytes("abc"), String("abc")));
  CHECK(!Same(HeapBytes("hello world"), String("hello world")));
}

TEST_CASE("big integers") {
  BigInt two_to_64 = BigInt(1) << 64;
  CHECK(Same(two_to_64, BigInt(1) << 64));
  CHECK(!Same(two_to_64, two_to_64 + 1));
  CHECK(!Same(two_to_64, 0));
}

TEST_CASE("containers") {
  CHECK(Same(Items{1, Items{2, "x"}, nullptr}, Items{1, Items{2, "x"}, nullptr}));
  CHECK(!Same(Items{1}, List<Any>{1}));
  CHECK(!Same(Table{{1, 2}}, Dict<Any, Any>{{1, 2}}));
  CHECK(Same(List<Any>{1, 2}, List<Any>{1, 2}));
  CHECK(Same(Table{{1, 2}, {3, 4}}, Table{{3, 4}, {1, 2}}));
  CHECK(Same(Table{{"a", 1}}, Table{{String(std::string("a")), 1}}));
  CHECK(Same(Dict<Any, Any>{{1, 2}, {3, 4}}, Dict<Any, Any>{{3, 4}, {1, 2}}));
  CHECK(Same(Shape{1, 2}, Shape{1, 2}));
  CHECK(Same(Shape{}, Shape{}));
}

TEST_CASE("mismatches in sequences") {
  CHECK_EQ(MismatchOf(1, 1), "");
  CHECK_EQ(MismatchOf(1, 2), "root");
  CHECK_EQ(MismatchOf(1, "a"), "root");
  CHECK_EQ(MismatchOf(Items{1}, List<Any>{1}), "root");
  CHECK_EQ(MismatchOf(Items{1, 2, 3}, Items{1, 5, 4}), "root[1]");
  CHECK_EQ(MismatchOf(Items{1, 2}, Items{1}), "root[1] | root[1]!");
  CHECK_EQ(MismatchOf(List<Any>{}, List<Any>{1, 2}), "root[0]! | root[0]");
  CHECK_EQ(MismatchOf(Items{1, 2, 3}, Items{1, 5}), "root[1]");
  CHECK_EQ(MismatchOf(Items{0, Items{1, 2}}, Items{0, Items{1}}), "root[1][1] | root[1][1]!");
  CHECK_EQ(MismatchOf(Items{Shape{1, 2}}, Items{Shape{1, 3}}), "root[0]");
  CHECK_EQ(MismatchOf(Items{Shape{1, 2}}, Items{Shape{1}}), "root[0]");
}

TEST_CASE("mismatches in maps") {
  CHECK_EQ(MismatchOf(Table{{1, 2}}, Table{{1, 3}}), "root{1}");
  CHECK_EQ(MismatchOf(Table{{1, 2}}, Table{{2, 2}}), "root{1} | root{1}!");
  CHECK_EQ(MismatchOf(Table{{1, 2}, {3, 4}}, Table{{1, 2}}), "root{3} | root{3}!");
  CHECK_EQ(MismatchOf(Table{{1, 2}}, Table{{1, 2}, {3, 4}}), "root{3}! | root{3}");
  CHECK_EQ(MismatchOf(Table{{1, 5}}, Table{{1, 2}, {3, 4}}), "root{1}");
  CHECK_EQ(MismatchOf(Table{{nullptr, 5}}, Table{{nullptr, 2}}), "root{None}");
  CHECK_EQ(MismatchOf(Table{}, Table{{nullptr, 2}}), "root{None}! | root{None}");
  CHECK_EQ(MismatchOf(Dict<Any, Any>{{"a", Table{{"b", 1}}}}, Dict<Any, Any>{{"a", Table{}}}),
           "root{a}{b} | root{a}{b}!");
  CHECK_EQ(MismatchOf(Table{{std::nan(""), 1}}, Table{{-std::nan(""), 1}}),
           "root{float} | root{float}!");
}

TEST_CASE("objects as keys") {
  ObjectRef f = Call("f", 1), g = Call("f", 1);
  CHECK(Same(Table{{f, 1}}, Table{{f, 1}}));
  // Trees and containers are keys by address.
  CHECK_EQ(MismatchOf(Items{f, Table{{f, 1}}}, Items{g, Table{{g, 1}}}),
           "root[1]{test.structural.Call} | root[1]{test.structural.Call}!");
  Items a{1}, b{1};
  CHECK(!Same(Items{a, Table{{a, 1}}}, Items{b, Table{{b, 1}}}));
  ObjectRef d = Let(1), e = Let(1);
  CHECK(Same(Items{d, Table{{d, 1}}}, Items{e, Table{{e, 1}}}));
}

TEST_CASE("tensors") {
  Tensor tensor = NewTensor({2, 3}, kFloat32), changed = NewTensor({2, 3}, kFloat32);
  CHECK(Same(tensor, changed));
  static_cast<char*>(changed.data_ptr())[23] ^= 1;
  CHECK_EQ(MismatchOf(Items{tensor}, Items{changed}), "root[0]");
  CHECK(StructuralEqual::Equal(tensor, changed, false, true));
  CHECK(!Same(tensor, NewTensor({3, 2}, kFloat32)));
  CHECK(!Same(tensor, NewTensor({2, 3}, DLDataType{kDLInt, 32, 1})));
  CHECK(!Same(tensor, NewTensor({2, 3, 1}, kFloat32)));
  CHECK(Same(NewTensor({0, 4}, kFloat32), NewTensor({0, 4}, kFloat32)));
  CHECK(Same(NewTensor({}, kInt8), NewTensor({}, kInt8)));
  float nan = std::nanf(""), other_nan = -nan;
  Tensor a = NewTensor({1}, kFloat32), b = NewTensor({1}, kFloat32);
  std::memcpy(a.data_ptr(), &nan, sizeof(nan));
  std::memcpy(b.data_ptr(), &other_nan, sizeof(nan));
  CHECK(!Same(a, b));
}

TEST_CASE("content of tensors starts after the byte offset") {
  Tensor a = NewTensor({3}, kInt8), b = NewTensor({4}, kInt8);
  auto* raw = const_cast<DLTensor*>(b.GetDLTensorPtr());
  raw->shape[0] = 3;
  CHECK(Same(a, b));
  raw->byte_offset = 1;
  CHECK(!Same(a, b));
}

TEST_CASE("tensors without readable content") {
  const std::string failure = "InternalError: Check failed: ";
  Tensor cpu = NewTensor({2}, kFloat32), cuda = NewTensor({2}, kFloat32, {kDLCUDA, 0});
  CHECK(Same(cuda, cuda));
  CHECK(!Same(cuda, NewTensor({3}, kFloat32, {kDLCUDA, 0})));
  CHECK(StructuralEqual::Equal(cpu, cuda, false, true));
  CHECK_EQ(Thrown([&] { Same(cuda, cpu); }),
           failure + "lhs.device().device_type == kDLCPU (2 vs. 1) : can only compare CPU tensor");
  CHECK_EQ(Thrown([&] { Same(cpu, cuda); }),
           failure + "rhs.device().device_type == kDLCPU (2 vs. 1) : can only compare CPU tensor");
  Tensor compact = NewTensor({2, 3}, kFloat32);
  Tensor strided = NewTensor({4, 6}, kFloat32).as_strided({2, 3}, {6, 1});
  CHECK_EQ(Thrown([&] { Same(strided, compact); }),
           failure + "(lhs.IsContiguous()) is false: Can only compare contiguous tensor");
  CHECK_EQ(Thrown([&] { Same(compact, strided); }),
           failure + "(rhs.IsContiguous()) is false: Can only compare contiguous tensor");
}

// ---- Objects ------------------------------------------------------------------------------------

TEST_CASE("trees") {
  CHECK(Same(Call("f", Items{1, 2}), Call("f", Items{1, 2})));
  CHECK(Same(Call("f", 1, /*span=*/7), Call("f", 1, /*span=*/8)));
  CHECK_EQ(MismatchOf(Call("f", Items{1, 2}), Call("f", Items{1, 3})), "root.args[1]");
  CHECK_EQ(MismatchOf(Call("f", 1), Call("g", 2)), "root.op");
  CHECK_EQ(MismatchOf(Call("f", nullptr), Call("f", 1)), "root.args");
  CHECK_EQ(MismatchOf(Call("f", 1), Func("f", 1)), "root");
  CHECK_EQ(MismatchOf(Call("f", 1), New<AttrCallObj>("f", 1, 2)), "root");
  CHECK_EQ(MismatchOf(New<AttrCallObj>("f", 1, 2), New<AttrCallObj>("f", 1, 3)), "root.attrs");
  CHECK_EQ(MismatchOf(New<AttrCallObj>("f", 1, 2), New<AttrCallObj>("f", 2, 3)), "root.args");
  CHECK_EQ(MismatchOf(Call(Items{1, Table{{"k", Call("f", Items{1, 2})}}}, 1),
                      Call(Items{1, Table{{"k", Call("f", Items{1, 3})}}}, 1)),
           "root.op[1]{k}.args[1]");
}

TEST_CASE("constant trees and unique instances") {
  CHECK(Same(Type(1), Type(1)));
  CHECK_EQ(MismatchOf(Type(1), Type(2)), "root.element");
  ObjectRef type = Type(New<UnsupportedObj>());
  CHECK(Same(type, type));  // without comparing children
  ObjectRef add = New<OperatorObj>("add");
  CHECK(Same(Call(add, 1), Call(add, 1)));
  CHECK_EQ(MismatchOf(Call(add, 1), Call(New<OperatorObj>("add"), 1)), "root.op");
}

TEST_CASE("unsupported types") {
  ObjectRef unsupported = New<UnsupportedObj>(), undescribed = New<UndescribedObj>();
  const std::string end = "`, so StructuralHash is not supported for this type";
  CHECK_EQ(
      Thrown([&] { Same(unsupported, unsupported); }),
      "TypeError: _type_s_eq_hash_kind is not set for type `test.structural.Unsupported" + end);
  CHECK_EQ(Thrown([&] { Same(Items{undescribed}, Items{undescribed}); }),
           "TypeError: Type metadata is not set for type `test.structural.Undescribed" + end);
  // Values of different types are different without a comparison.
  CHECK(!Same(unsupported, undescribed));
  CHECK(!Same(unsupported, 1));
}

TEST_CASE("free variables match themselves") {
  ObjectRef x = Var("x"), y = Var("y");
  CHECK(Same(x, x));
  CHECK_EQ(MismatchOf(x, y), "root");
  CHECK_EQ(MismatchOf(Var("x", 1), Var("x", 2)), "root.type");
  CHECK_EQ(MismatchOf(Func(x, Items{x, y}), Func(x, Items{x, x})), "root.body[1]");
}

TEST_CASE("variables match where they are defined") {
  ObjectRef x = Var("x"), y = Var("y"), z = Var("z", "type");
  CHECK(Same(Func(Items{x}, x), Func(Items{y}, y)));
  CHECK(Same(Loop(Items{x}, x), Loop(Items{y}, y)));
  CHECK(Same(Func(Items{x, y}, Call(x, y)), Func(Items{y, x}, Call(y, x))));
  CHECK_EQ(MismatchOf(Func(Items{x, y}, Call(x, y)), Func(Items{y, x}, Call(x, y))),
           "root.body.op");
  CHECK_EQ(MismatchOf(Func(Items{x}, x), Func(Items{y}, x)), "root.body");
  CHECK_EQ(MismatchOf(Func(Items{x}, y), Func(Items{y}, x)), "root.body");
  CHECK_EQ(MismatchOf(Func(Items{x}, x), Func(Items{z}, z)), "root.params[0].type");
  CHECK_EQ(MismatchOf(Func(Items{x, x}, 1), Func(Items{x, y}, 1)), "root.params[1]");
  CHECK_EQ(MismatchOf(Func(Items{x, y}, 1), Func(Items{x, x}, 1)), "root.params[1]");
  CHECK_EQ(MismatchOf(Func(Items{}, 1), Func(Items{x}, 1)), "root.params[0]! | root.params[0]");
  // Also after the definition.
  CHECK(Same(Items{Func(x, 1), x}, Items{Func(y, 1), y}));
  CHECK_EQ(MismatchOf(Items{Func(x, 1), x}, Items{Func(y, 1), x}), "root[1]");
  CHECK_EQ(MismatchOf(Items{Func(x, 1), y}, Items{Func(y, 1), y}), "root[1]");
}

TEST_CASE("the match of a variable is final") {
  ObjectRef x = Var("x"), y = Var("y"), z = Var("z");
  CHECK(Same(Items{Func(x, x), Func(x, x)}, Items{Func(y, y), Func(y, y)}));
  CHECK_EQ(MismatchOf(Items{Func(x, x), Func(x, x)}, Items{Func(y, y), Func(z, z)}),
           "root[1].params");
  CHECK_EQ(MismatchOf(Items{Func(y, y), Func(z, z)}, Items{Func(x, x), Func(x, x)}),
           "root[1].params");
  // Matches a free variable with itself.
  CHECK_EQ(MismatchOf(Items{x, Func(x, 1)}, Items{x, Func(y, 1)}), "root[1].params");
}

TEST_CASE("mapped free variables") {
  ObjectRef x = Var("x"), y = Var("y"), z = Var("z", 1);
  CHECK(SameMapped(x, y));
  CHECK_EQ(MismatchOf(x, z, true), "root.type");
  CHECK(SameMapped(Items{x, y, x}, Items{y, x, y}));
  CHECK_EQ(MismatchOf(Items{x, x}, Items{x, y}, true), "root[1]");
  CHECK_EQ(MismatchOf(Items{x, y}, Items{x, x}, true), "root[1]");
  CHECK(SameMapped(Table{{1, x}, {2, y}}, Table{{2, x}, {1, y}}));
}

TEST_CASE("regions") {
  CHECK(Defines([](ObjectRef v) { return Func(v, 1); }));
  CHECK(!Defines([](ObjectRef v) { return Func(1, v); }));
  CHECK(Defines([](ObjectRef v) { return Func(Var("v", v), 1); }));
  CHECK(Defines([](ObjectRef v) { return Func(Buffer(v), 1); }));
  // A Simple region ends at the variables that it defines.
  CHECK(Defines([](ObjectRef v) { return Loop(Call(v, 1), 1); }));
  CHECK(!Defines([](ObjectRef v) { return Loop(Var("v", v), 1); }));
  CHECK(!Defines([](ObjectRef v) { return Loop(Buffer(Call(v, 1)), 1); }));
  CHECK(Defines([](ObjectRef v) { return Loop(Buffer(Func(v, 1)), 1); }));
  // A Pattern region inside a Simple one is a Pattern region; a Simple region inside a Pattern one
  // is not Simple.
  CHECK(Defines([](ObjectRef v) { return Loop(Func(Var("v", v), 1), 1); }));
  CHECK(Defines([](ObjectRef v) { return Func(Loop(Var("v", v), 1), 1); }));
  CHECK(Defines([](ObjectRef v) { return Loop(Func(1, v), 1); }));
  CHECK(!Defines([](ObjectRef v) { return Loop(Func(Var("u"), Var("v", v)), 1); }));
}

TEST_CASE("shared subtrees do not hide variables") {
  ObjectRef x = Var("x"), y = Var("y");
  ObjectRef call = Call(x, 1);
  Items items{x};
  Table table{{1, x}};
  CHECK_EQ(MismatchOf(Func(x, call), Func(y, call)), "root.body.op");
  CHECK_EQ(MismatchOf(Func(x, items), Func(y, items)), "root.body[0]");
  CHECK_EQ(MismatchOf(Func(x, table), Func(y, table)), "root.body{1}");
  // A constant tree promises not to contain variables.
  ObjectRef type = Type(x);
  CHECK(Same(Func(x, type), Func(y, type)));
}

TEST_CASE("nodes match one to one") {
  ObjectRef d = Let(1), e = Let(1), f = Let(2);
  CHECK(Same(Items{d, d}, Items{e, e}));
  CHECK(Same(Items{d, e}, Items{e, d}));
  CHECK_EQ(MismatchOf(d, f), "root.value");
  CHECK_EQ(MismatchOf(Items{d, d}, Items{d, e}), "root[1]");
  CHECK_EQ(MismatchOf(Items{d, e}, Items{d, d}), "root[1]");
  CHECK_EQ(MismatchOf(Items{d, d}, Items{e, d}), "root[1]");
  CHECK(Same(Call(Let(d), d), Call(Let(e), e)));
  CHECK(!Same(Call(Let(d), d), Call(Let(d), e)));
}

TEST_CASE("variables as keys") {
  ObjectRef x = Var("x"), y = Var("y"), z = Var("z");
  CHECK(Same(Table{{x, 1}}, Table{{x, 1}}));
  CHECK_EQ(MismatchOf(Table{{x, 1}}, Table{{y, 1}}), "root{var x} | root{var x}!");
  CHECK(Same(Func(x, Table{{x, 1}}), Func(y, Table{{y, 1}})));
  CHECK_EQ(MismatchOf(Func(x, Table{{x, 1}}), Func(y, Table{{y, 2}})),
           "root.body{var x} | root.body{var y}");
  CHECK_EQ(MismatchOf(Func(x, Table{{x, 1}}), Func(y, Table{{x, 1}})),
           "root.body{var x} | root.body{var y}!");
  Items xz{x, z}, yx{y, x};
  CHECK_EQ(MismatchOf(Func(xz, Table{{x, 1}}), Func(yx, Table{{x, 1}, {y, 1}})),
           "root.body{var z}! | root.body{var x}");
  CHECK_EQ(MismatchOf(Func(xz, Table{{z, 1}, {x, 1}}), Func(yx, Table{{x, 1}})),
           "root.body{var x} | root.body{var y}!");
}

TEST_CASE("variables beside other keys") {
  ObjectRef x = Var("x"), y = Var("y");
  CHECK_EQ(MismatchOf(Func(x, Table{{x, 1}, {"k", 2}}), Func(y, Table{{y, 1}, {"k", 3}})),
           "root.body{k}");
  CHECK_EQ(MismatchOf(Func(x, Table{{nullptr, 1}}), Func(y, Table{{nullptr, 1}, {x, 1}})),
           "root.body{var x}! | root.body{var x}");
}

TEST_CASE("a free variable is not the key that is bound on the other side") {
  ObjectRef x = Var("x"), y = Var("y"), z = Var("z");
  CHECK_EQ(MismatchOf(Func(x, Table{{y, 1}}), Func(y, Table{{y, 1}})),
           "root.body{var y} | root.body{var y}!");
  CHECK(!Same(Func(x, Table{{x, 1}, {y, 1}}), Func(y, Table{{y, 1}, {z, 1}})));
}

// ---- Sharing, depth, threads --------------------------------------------------------------------

TEST_CASE("shared children are compared once") {
  auto grow = [](Any* items, Any* call, Any* table) {
    for (int i = 0; i < 64; ++i) {
      *items = Items{*items, *items};
      *call = Call(*call, *call);
      *table = Table{{1, *table}, {2, *table}};
    }
  };
  Any items = Items{1}, call = Call(1, 1), table = Table{{1, 1}};
  Any more_items = Items{1}, more_calls = Call(1, 1), more_tables = Table{{1, 1}};
  grow(&items, &call, &table);
  grow(&more_items, &more_calls, &more_tables);
  CHECK(Same(items, more_items));
  CHECK(Same(call, more_calls));
  CHECK(Same(table, more_tables));
}

TEST_CASE("values found equal before a variable match are compared again") {
  ObjectRef x = Var("x"), y = Var("y");
  Table table{{y, 1}};
  // The key is free at first, and bound on the right side only at the second occurrence.
  CHECK(!Same(Items{Func(1, table), Func(x, table)}, Items{Func(1, table), Func(y, table)}));
}

TEST_CASE("deep nesting needs no machine stack") {
  Tower left(100000), right(100000), other(100001);
  OnSmallStack([&] {
    CHECK(Same(left.top(), right.top()));
    CHECK(!Same(left.top(), other.top()));
    right.ground().push_back(1);
    CHECK(!Same(left.top(), right.top()));
  });
}

TEST_CASE("nesting is limited") {
  Tower tower((size_t{1} << 20) + 1);
  OnSmallStack([&] {
    CHECK_EQ(Thrown([&] { Same(tower.top(), tower.top()); }),
             "ValueError: the value is nested deeper than 1048576 levels, or contains itself");
    CHECK(Same(tower.top()[0], tower.top()[0]));
  });
}

TEST_CASE("paths are limited") {
  Tower left(10001), right(10001);
  left.ground().push_back(1);
  right.ground().push_back(2);
  auto paths = StructuralEqual::GetFirstMismatch(left.top()[0], right.top()[0]);
  CHECK_EQ((*paths).get<0>()->depth, 10000);
  CHECK_EQ(Thrown([&] { StructuralEqual::GetFirstMismatch(left.top(), right.top()); }),
           "ValueError: the values differ at a depth of more than 10000 levels, the maximum length "
           "of an access path");
  CHECK(!Same(left.top(), right.top()));
}

TEST_CASE("values that contain themselves") {
  List<Any> list{1}, other_list{1};
  Dict<Any, Any> dict{{1, list}}, other_dict{{1, other_list}};
  list.push_back(dict);
  other_list.push_back(other_dict);
  CHECK_EQ(Thrown([&] { Same(list, other_list); }),
           "ValueError: the value is nested deeper than 1048576 levels, or contains itself");
  other_list.push_back(1);
  CHECK(!Same(list, other_list));  // with different sizes
  list.clear();
  other_list.clear();
}

TEST_CASE("threads") {
  ObjectRef x = Var("x"), y = Var("y");
  Items lhs{Func(Items{x, y}, Items{y, x}), Table{{1, Let(1)}}, Items{1, 2}};
  Items rhs{Func(Items{y, x}, Items{x, y}), Table{{1, Let(1)}}, Items{1, 2}};
  RunTogether(8, [&](int) {
    for (int i = 0; i < 200; ++i) CHECK(Same(lhs, rhs));
  });
}

TEST_CASE("global functions") {
  Function equal = Function::GetGlobalRequired("ffi.StructuralEqual");
  CHECK(equal("abc", "abc", false, false).cast<bool>());
  CHECK(!equal(Var("x"), Var("y"), false, false).cast<bool>());
  CHECK(equal(Var("x"), Var("y"), true, false).cast<bool>());
  CHECK_EQ(Thrown([&] { equal(1, 1, false); }),
           "TypeError: Mismatched number of arguments when calling: `ffi.StructuralEqual(0: Any, "
           "1: Any, 2: bool, 3: bool) -> bool`. Expected 4 but got 3 arguments");
  Function find = Function::GetGlobalRequired("ffi.GetFirstStructuralMismatch");
  CHECK(find(Items{1}, Items{1}, false, false) == nullptr);
  auto paths = find(Items{1}, Items{2}, false, false).cast<refl::AccessPathPair>();
  CHECK_EQ(TextOf(paths.get<0>()), "[0]");
  CHECK(StructuralEqual()(Items{1}, Items{1}));
}

}  // namespace
