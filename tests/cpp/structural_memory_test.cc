// SPDX-License-Identifier: Apache-2.0
// Every memory request of a structural walk fails once: the walk throws and leaks nothing
// (AddressSanitizer reports leaks).
//
// The library uses the program's operator new, which is replaced here.
#include <doctest/doctest.h>

#include <cstdlib>
#include <exception>
#include <new>

#include "structural_ir.h"

namespace {

constexpr int kNever = -1;
thread_local int requests_until_failure = kNever;

}  // namespace

// Not inlined, because otherwise the compiler sees that memory from malloc is passed to delete.
#define NOINLINE __attribute__((noinline))
NOINLINE void* operator new(size_t size) {
  if (requests_until_failure != kNever && requests_until_failure-- == 0) throw std::bad_alloc();
  void* space = std::malloc(size);
  if (space == nullptr) throw std::bad_alloc();
  return space;
}
NOINLINE void operator delete(void* space) noexcept { std::free(space); }
NOINLINE void operator delete(void* space, size_t) noexcept { std::free(space); }

namespace {

using namespace ir;

// Values that need every type of stack frame and of result: sequences, maps, shared children,
// variables, nodes, hooks.
Items Sample(const char* last) {
  Items items;
  for (int i = 0; i < 20; ++i) {
    ObjectRef x = Var("x"), y = Var("y");
    ObjectRef call = Call(x, Items{y, "a text"});
    Dict<Any, Any> dict{{1, call}, {x, y}, {2, Let(call)}};
    items.push_back(Hooked(Func(Items{x, y}, dict), Items{call, dict, dict, call}));
  }
  return Items{items, items, last};
}

void UseHooks() {
  hooks.equal = [](ObjectRef lhs, ObjectRef rhs, EqualChildren equal) {
    const auto* l = lhs.as<HookedObj>();
    const auto* r = rhs.as<HookedObj>();
    return equal(l->a, r->a, 0, "a") && equal(l->b, r->b, 0, "b");
  };
  hooks.hash = [](ObjectRef self, int64_t hash, HashChild hash_child) {
    const auto* hooked = self.as<HookedObj>();
    return hash_child(hooked->b, hash_child(hooked->a, hash, 0), 0);
  };
}

// Runs the body repeatedly: the n-th memory request fails, for n = 0, 1, ... until no request
// fails.
template <typename Body>
void CheckEveryRequest(Body body) {
  int num_requests = 0;
  for (bool has_failed = true; has_failed; ++num_requests) {
    requests_until_failure = num_requests;
    bool has_thrown = false;
    try {
      body();
    } catch (const std::exception&) {
      has_thrown = true;
    }
    has_failed = requests_until_failure == kNever;
    requests_until_failure = kNever;
    CHECK_EQ(has_thrown, has_failed);
  }
  CHECK(num_requests > 5);
}

TEST_CASE("hash") {
  UseHooks();
  Items sample = Sample("end");
  uint64_t expected = StructuralHash::Hash(Sample("end"));
  CheckEveryRequest([&] { CHECK_EQ(StructuralHash::Hash(sample), expected); });
}

TEST_CASE("equal") {
  UseHooks();
  Items lhs = Sample("end"), rhs = Sample("end"), other = Sample("other end");
  CheckEveryRequest([&] { CHECK(StructuralEqual::Equal(lhs, rhs)); });
  CheckEveryRequest([&] { CHECK(!StructuralEqual::Equal(lhs, other)); });
  CheckEveryRequest([&] {
    auto paths = StructuralEqual::GetFirstMismatch(lhs, other);
    CHECK_EQ((*paths).get<0>()->depth, 1);
  });
}

}  // namespace
