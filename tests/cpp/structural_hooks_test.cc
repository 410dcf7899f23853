// SPDX-License-Identifier: Apache-2.0
// Structural equality of types with comparison hooks.
#include "structural_mismatch.h"
#include "thrown.h"

namespace {

using namespace ir;
using Equal = EqualChildren;

const HookedObj* AsHooked(const ObjectRef& object) { return object.as<HookedObj>(); }

// Compares `a` in the region, then `b`.
void UseHook(TVMFFIDefRegionKind region) {
  hooks.equal = [region](ObjectRef lhs, ObjectRef rhs, Equal equal) {
    return equal(AsHooked(lhs)->a, AsHooked(rhs)->a, region, "first") &&
           equal(AsHooked(lhs)->b, AsHooked(rhs)->b, kTVMFFIDefRegionKindNone, "second");
  };
}

TEST_CASE("hooks select the compared values") {
  UseHook(kTVMFFIDefRegionKindNone);
  CHECK(Same(Hooked(1, 2), Hooked(1, 2)));
  CHECK_EQ(MismatchOf(Hooked(1, 2), Hooked(3, 2)), "root.first");
  CHECK_EQ(MismatchOf(Items{Hooked(1, Items{2})}, Items{Hooked(1, Items{3})}), "root[0].second[0]");
  hooks.equal = [](ObjectRef, ObjectRef, Equal) { return false; };
  CHECK_EQ(MismatchOf(Items{Hooked(1, 2)}, Items{Hooked(1, 2)}), "root[0]");
  hooks.equal = [](ObjectRef, ObjectRef, Equal) { return true; };
  CHECK(Same(Items{Hooked(1, 2)}, Items{Hooked(3, 4)}));
}

TEST_CASE("regions of hooks") {
  ObjectRef x = Var("x"), y = Var("y");
  auto wraps = [](ObjectRef v) { return Hooked(Var("v", v), 1); };
  UseHook(kTVMFFIDefRegionKindNone);
  CHECK(!Same(Hooked(x, x), Hooked(y, y)));
  CHECK(Defines([](ObjectRef v) { return Loop(Hooked(v, 1), 1); }));
  UseHook(kTVMFFIDefRegionKindPattern);
  CHECK(Same(Hooked(x, x), Hooked(y, y)));
  CHECK(Defines(wraps));
  UseHook(kTVMFFIDefRegionKindSimple);
  CHECK(Same(Hooked(x, x), Hooked(y, y)));
  CHECK(!Defines(wraps));
  CHECK(Defines([&](ObjectRef v) { return Func(wraps(v), 1); }));
}

TEST_CASE("hooks of variables and nodes") {
  ObjectRef v = New<HookedVarObj>(1), w = New<HookedVarObj>(1);
  CHECK(Same(Items{v, v}, Items{v, v}));
  CHECK_EQ(MismatchOf(v, w), "root");
  CHECK(SameMapped(Items{v, v}, Items{w, w}));
  CHECK_EQ(MismatchOf(v, New<HookedVarObj>(2), true), "root.value");
  ObjectRef d = New<HookedLetObj>(1), e = New<HookedLetObj>(1);
  CHECK(Same(Items{d, d}, Items{e, e}));
  CHECK_EQ(MismatchOf(Items{d, d}, Items{d, e}), "root[1]");
}

TEST_CASE("hooks may try alternatives") {
  // Equal in either order.
  hooks.equal = [](ObjectRef lhs, ObjectRef rhs, Equal equal) {
    const HookedObj* l = AsHooked(lhs);
    const HookedObj* r = AsHooked(rhs);
    return (equal(l->a, r->a, 1, "a") && equal(l->b, r->b, 1, "b")) ||
           (equal(l->a, r->b, 1, "a") && equal(l->b, r->a, 1, "b"));
  };
  CHECK(Same(Hooked(1, 2), Hooked(2, 1)));
  // The first failed alternative is reported, unless another alternative succeeds.
  CHECK_EQ(MismatchOf(Hooked(Items{1, 2}, 3), Hooked(Items{1, 4}, 5)), "root.a[1]");
  CHECK_EQ(MismatchOf(Items{Hooked(1, 2), 3}, Items{Hooked(2, 1), 4}), "root[1]");
  CHECK_EQ(MismatchOf(Hooked(Hooked(1, 2), 3), Hooked(Hooked(2, 1), 4)), "root.b");
  // A failed alternative leaves no matches.
  ObjectRef x = Var("x"), y = Var("y"), z = Var("z");
  CHECK(Same(Hooked(Items{x, 1}, Items{x, 2}), Hooked(Items{y, 2}, Items{y, 1})));
  CHECK(Same(Hooked(Items{x, 1}, 2), Hooked(2, Items{z, 1})));
}

TEST_CASE("many matches are undone") {
  auto new_vars = [] {
    Items vars;
    for (int i = 0; i < 300; ++i) vars.push_back(Var("v"));
    return vars;
  };
  Items params = new_vars(), other_params = new_vars();
  Items a = new_vars(), b = new_vars(), c = new_vars();
  hooks.equal = [&](ObjectRef, ObjectRef, Equal equal) {
    CHECK(!equal(Items{a, 1}, Items{b, 2}, kTVMFFIDefRegionKindPattern, "first"));
    return equal(Items{params, a, params, a}, Items{other_params, c, other_params, c},
                 kTVMFFIDefRegionKindPattern, "second");
  };
  CHECK_EQ(MismatchOf(Func(params, Hooked(0, 0)), Func(other_params, Hooked(0, 0))), "");
}

TEST_CASE("values found equal in a failed alternative are compared again") {
  ObjectRef x = Var("x"), y = Var("y"), z = Var("z");
  ObjectRef of_x = Call(x, 1), of_y = Call(y, 1);
  hooks.equal = [&](ObjectRef, ObjectRef, Equal equal) {
    CHECK(!equal(Items{x, of_x, 1}, Items{y, of_y, 2}, kTVMFFIDefRegionKindPattern, "a"));
    return equal(Items{x, of_x}, Items{z, of_y}, kTVMFFIDefRegionKindPattern, "b");
  };
  CHECK(!Same(Hooked(1, 2), Hooked(1, 2)));
}

TEST_CASE("names of fields") {
  Any name;
  hooks.equal = [&name](ObjectRef lhs, ObjectRef rhs, Equal equal) {
    return equal(AsHooked(lhs)->a, AsHooked(rhs)->a, 0, name);
  };
  CHECK_EQ(MismatchOf(Hooked(Items{1}, 0), Hooked(Items{2}, 0)), "root[0]");  // no name, no step
  name = String(std::string("long name of a field"));
  CHECK_EQ(MismatchOf(Hooked(1, 0), Hooked(2, 0)), "root.long name of a field");
  name = 7;
  CHECK(!Same(Hooked(1, 0), Hooked(2, 0)));
  CHECK_EQ(Thrown([] { StructuralEqual::GetFirstMismatch(Hooked(1, 0), Hooked(2, 0)); }),
           "TypeError: Cannot convert from type `int` to `str`");
}

TEST_CASE("hooks that fail") {
  hooks.equal = [](ObjectRef, ObjectRef, Equal) -> bool {
    TVM_FFI_THROW(ValueError) << "from the hook";
    TVM_FFI_UNREACHABLE();
  };
  CHECK_EQ(Thrown([] { Same(Items{Hooked(1, 2)}, Items{Hooked(1, 2)}); }),
           "ValueError: from the hook");
}

TEST_CASE("errors caught by a hook leave no trace") {
  hooks.equal = [](ObjectRef lhs, ObjectRef rhs, Equal equal) {
    Items left{AsHooked(lhs)->b, Items{AsHooked(lhs)->a}};
    Items right{AsHooked(rhs)->b, Items{AsHooked(rhs)->a}};
    CHECK(Thrown([&] { equal(left, right, 1, "a"); }).find("TypeError") == 0);
    return equal(AsHooked(lhs)->b, AsHooked(rhs)->b, 0, "b");
  };
  ObjectRef x = Var("x"), y = Var("y"), unsupported = New<UnsupportedObj>();
  CHECK(Same(Hooked(unsupported, x), Hooked(unsupported, x)));
  CHECK_EQ(MismatchOf(Hooked(unsupported, x), Hooked(unsupported, y)), "root.b");
}

TEST_CASE("a difference found by a hook that then fails is discarded") {
  // Finds a difference and throws; the outer hook continues.
  hooks.equal = [](ObjectRef lhs, ObjectRef rhs, Equal equal) {
    const HookedObj* l = AsHooked(lhs);
    const HookedObj* r = AsHooked(rhs);
    if (l->a.as<HookedObj>() == nullptr) {
      CHECK(!equal(l->a, r->a, 0, "inner"));
      TVM_FFI_THROW(ValueError) << "from the hook";
    }
    CHECK_EQ(Thrown([&] { equal(l->a, r->a, 0, "a"); }), "ValueError: from the hook");
    return equal(l->b, r->b, 0, "b");
  };
  CHECK_EQ(MismatchOf(Hooked(Hooked(1, 0), 3), Hooked(Hooked(2, 0), 4)), "root.b");
}

TEST_CASE("callbacks kept after the hook") {
  Equal kept;
  hooks.equal = [&kept](ObjectRef, ObjectRef, Equal equal) {
    kept = equal;
    return true;
  };
  CHECK(Same(Hooked(1, 2), Hooked(1, 2)));
  CHECK_EQ(Thrown([&] { kept(1, 1, 0, "a"); }),
           "RuntimeError: the callback of a structural hook was called after the comparison or "
           "hash that called the hook had ended");
}

TEST_CASE("hooks that change containers") {
  auto new_dict = [] {
    return Dict<Any, Any>{{1, Hooked(0, 0)}, {2, 5}, {3, 6}, {4, 7}, {5, 8}, {6, 9}};
  };
  List<Any> lhs_list{Hooked(0, 0), 1, 2, 3}, rhs_list{Hooked(0, 0), 1, 2, 3};
  Dict<Any, Any> lhs = new_dict(), rhs = new_dict();
  hooks.equal = [&](ObjectRef, ObjectRef, Equal) {
    lhs_list.clear();
    lhs.clear();
    rhs.clear();
    return true;
  };
  CHECK(!Same(lhs_list, rhs_list));
  lhs = new_dict();
  rhs = new_dict();
  CHECK(!Same(lhs, rhs));
  lhs = new_dict();
  rhs = new_dict();
  auto paths = StructuralEqual::GetFirstMismatch(lhs, rhs);
  CHECK_EQ(TextOf((*paths).get<1>()), "{2}!");
}

}  // namespace
