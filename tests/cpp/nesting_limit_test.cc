// SPDX-License-Identifier: Apache-2.0
// The nesting limits of walks that use the machine stack for every level.
#include <doctest/doctest.h>
#include <tvm/ffi/extra/json.h>
#include <tvm/ffi/extra/structural_mutate.h>

#include "nesting.h"
#include "structural_ir.h"
#include "thrown.h"

namespace {

using namespace ir;

std::string Brackets(size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

std::string ParseError(const std::string& text) {
  return Thrown([&] { json::Parse(String(text)); });
}

TEST_CASE("JSON") {
  CHECK_EQ(json::Stringify(json::Parse(String(Brackets(10000)))), Brackets(10000));
  const char* too_deep =
      "ValueError: the JSON value is nested deeper than 10000 levels: line 1 column 10001 (char "
      "10000)";
  CHECK_EQ(ParseError(Brackets(10001)), too_deep);
  CHECK_EQ(ParseError(std::string(10000000, '[')), too_deep);
  Nested value(10001, nullptr, [](const Any& inner) { return json::Array{inner}; });
  CHECK_EQ(Thrown([&] { json::Stringify(value.value()); }),
           "ValueError: the JSON value is nested deeper than 10000 levels");
}

// Hooks call back into the walk, which calls the next hook.
Any InHook(const Any& value) { return Hooked(value, 1); }

template <typename Walk>
void HooksNestUntilTheStackIsUsedUp(Walk walk) {
  Nested too_deep(100000, 1, InHook), deep(200, 1, InHook), shallow(20, 1, InHook);
  OnSmallStack([&] {
    CHECK_EQ(Thrown([&] { walk(too_deep.value()); }),
             "ValueError: objects with structural hooks are nested too deep for the stack, or "
             "contain themselves");
    CHECK_EQ(Thrown([&] { walk(shallow.value()); }), "");
  });
  CHECK_EQ(Thrown([&] { walk(deep.value()); }), "");
}

TEST_CASE("hooks of structural hash") {
  hooks.hash = [](ObjectRef self, int64_t hash, HashChild hash_child) {
    return hash_child(self.as<HookedObj>()->a, hash, kTVMFFIDefRegionKindNone);
  };
  HooksNestUntilTheStackIsUsedUp([](const Any& value) { StructuralHash::Hash(value); });
}

TEST_CASE("hooks of structural equality") {
  hooks.equal = [](ObjectRef lhs, ObjectRef rhs, EqualChildren equal) {
    return equal(lhs.as<HookedObj>()->a, rhs.as<HookedObj>()->a, kTVMFFIDefRegionKindNone, "a");
  };
  HooksNestUntilTheStackIsUsedUp([](const Any& value) { StructuralEqual::Equal(value, value); });
}

// ---- Structural visits and mutations
// --------------------------------------------------------------------

constexpr const char* kTooDeep =
    "ValueError: the value is nested too deep for the stack of this thread, or contains itself";

WalkResult Go(AnyView) { return WalkResult::Advance(); }
Any InLet(const Any& value) { return Let(value); }
Any InDict(const Any& value) { return Dict<Any, Any>{{1, value}}; }

void CheckTooDeepToMutate(const Any& value) {
  auto keep = [](int64_t part) { return part; };
  CHECK_EQ(Thrown([&] { StructuralMap<WalkOrder::kPreOrder>(value, keep); }), kTooDeep);
  CHECK_EQ(Thrown([&] { StructuralMap<WalkOrder::kPostOrder>(value, keep); }), kTooDeep);
  auto descend = [](AnyView part, StructuralMutatorObj* mutator) {
    return mutator->DefaultMutateExpected(part);
  };
  CHECK_EQ(Thrown([&] { StructuralMutate(value, descend); }), kTooDeep);
  Function map = Function::GetGlobalRequired("ffi.StructuralMap");
  CHECK_EQ(Thrown([&] { map(value, Items{}, Items{}, 1); }), kTooDeep);
}

void CheckTooDeepToVisit(const Any& value) {
  CHECK_EQ(Thrown([&] { StructuralWalk<WalkOrder::kPreOrder>(value, Go); }), kTooDeep);
  CHECK_EQ(Thrown([&] { StructuralWalk<WalkOrder::kPostOrder>(value, Go); }), kTooDeep);
  auto descend = [](AnyView part, StructuralVisitorObj* visitor) {
    return visitor->DefaultVisitExpected(part);
  };
  CHECK_EQ(Thrown([&] { StructuralVisit(value, descend); }), kTooDeep);
  Function walk = Function::GetGlobalRequired("ffi.StructuralWalk");
  CHECK_EQ(Thrown([&] { walk(value, Items{}, Items{}, 0); }), kTooDeep);
}

TEST_CASE("structural visits and mutations") {
  Nested lists(100000, 1, InList), dicts(100000, 1, InDict), lets(100000, 1, InLet);
  Nested deep(200, 1, InLet), shallow(20, 1, InLet);
  auto increment = [](int64_t value) { return value + 1; };
  StructuralWalk<WalkOrder::kPostOrder>(deep.value(), Go);
  StructuralMap<WalkOrder::kPostOrder>(deep.value(), increment);
  OnSmallStack([&] {
    for (const Nested* too_deep : {&lists, &dicts, &lets}) {
      CheckTooDeepToVisit(too_deep->value());
      CheckTooDeepToMutate(too_deep->value());
    }
    StructuralWalk<WalkOrder::kPostOrder>(shallow.value(), Go);
    StructuralMap<WalkOrder::kPostOrder>(shallow.value(), increment);
  });
}

TEST_CASE("structural visits and mutations of cycles") {
  List<Any> list;
  list.push_back(list);
  CheckTooDeepToVisit(list);
  CheckTooDeepToMutate(list);
  list.clear();
}

}  // namespace
