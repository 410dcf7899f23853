// SPDX-License-Identifier: Apache-2.0
// Every request for memory fails once: the services report it and lose nothing (under
// AddressSanitizer a lost block is a failure).
//
// Linked statically with --wrap=malloc, so that requests of the library pass through here.
#include <tvm/ffi/big_int.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/reflection/registry.h>

#include <cstdlib>
#include <new>

#include "../runtime/check.h"

namespace {

constexpr int kNever = -1;
int requests_until_failure = kNever;
bool stays_exhausted = false;
bool has_failed = false;

bool FailsNow() {
  if (requests_until_failure == kNever) return false;
  if (requests_until_failure > 0) {
    --requests_until_failure;
    return false;
  }
  has_failed = true;
  if (!stays_exhausted) requests_until_failure = kNever;
  return true;
}

}  // namespace

extern "C" void* __real_malloc(size_t size);
extern "C" void* __wrap_malloc(size_t size) { return FailsNow() ? nullptr : __real_malloc(size); }

// Not inline: the compiler would see malloc's memory given to delete.
#define NOINLINE __attribute__((noinline))
NOINLINE void* operator new(size_t size) {
  void* space = FailsNow() ? nullptr : __real_malloc(size);
  if (space == nullptr) throw std::bad_alloc();
  return space;
}
NOINLINE void operator delete(void* space) noexcept { std::free(space); }
NOINLINE void operator delete(void* space, size_t) noexcept { std::free(space); }

namespace {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

class NodeObj : public Object {
 public:
  Any left;
  Any right;

  explicit NodeObj(Any left) : left(std::move(left)) { ++alive; }
  NodeObj(const NodeObj& other) : Object(other), left(other.left), right(other.right) { ++alive; }
  ~NodeObj() { --alive; }
  static int alive;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.allocation.Node", NodeObj, Object);
};
int NodeObj::alive = 0;

// All hooks pass on what the function they get says about the part.
class HookedObj : public Object {
 public:
  Any part;
  explicit HookedObj(Any part) : part(std::move(part)) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.allocation.Hooked", HookedObj, Object);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  using Hooked = const HookedObj*;
  refl::ObjectDef<NodeObj>(refl::init(false))
      .def_rw("left", &NodeObj::left)
      .def_rw("right", &NodeObj::right);
  refl::ObjectDef<HookedObj>(refl::init(false))
      .def_ro("part", &HookedObj::part)
      .def_type_attr(
          "__ffi_repr__",
          [](Hooked self, const TypedFunction<String(AnyView)>& f) { return f(self->part); })
      .def_type_attr(
          "__ffi_hash__",
          [](Hooked self, const TypedFunction<int64_t(AnyView)>& f) { return f(self->part); })
      .def_type_attr("__ffi_compare__",
                     [](Hooked l, Hooked r, const TypedFunction<int(AnyView, AnyView)>& f) {
                       return f(l->part, r->part);
                     });
}

// A value that contains itself; what it leaves when it goes is nothing.
class Sample {
 public:
  Sample() {
    Dict<Any, Any> dict{{"k", 1}};
    auto node = make_object<NodeObj>(dict);
    Any self = ObjectRef(ObjectPtr<Object>(node));
    for (int i = 0; i < 5; ++i) dict.Set(i, List<Any>{self, "a long string on the heap"});
    node->right = self;
    Any hooked = ObjectRef(ObjectPtr<Object>(make_object<HookedObj>(Array<Any>{self, dict})));
    value = Array<Any>{self, hooked, BigInt(1) << 70, 1.5, Shape{1, 2}};
  }
  explicit Sample(const Any& value) : value(value) {}
  Sample(const Sample&) = delete;
  Sample& operator=(const Sample&) = delete;
  ~Sample() {
    auto* node = const_cast<NodeObj*>(value.as_or_throw<Array<Any>>()[0].as<NodeObj>());
    node->left = nullptr;
    node->right = nullptr;
  }
  Any value;
};

// Runs `call` with the n-th request failing, for n = 1, 2, ... until none fails; then its answer
// must be `true`.
template <typename Call>
void CheckEveryRequest(const char* what, Call call) {
  int alive = NodeObj::alive;
  for (bool stays : {false, true}) {
    for (int n = 0;; ++n) {
      has_failed = false;
      stays_exhausted = stays;
      requests_until_failure = n;
      bool answer = false;
      bool has_thrown = false;
      try {
        answer = call();
      } catch (const std::bad_alloc&) {
        has_thrown = true;
      } catch (const Error& error) {
        requests_until_failure = kNever;
        has_thrown = error.kind() == "MemoryError";
      }
      requests_until_failure = kNever;
      if (has_thrown != has_failed || answer == has_thrown || NodeObj::alive != alive) {
        check::Fail(__FILE__, __LINE__, std::string(what) + ", request " + std::to_string(n));
        return;
      }
      if (!has_failed) break;
    }
  }
}

TEST(Repr) {
  Sample sample;
  size_t size = ReprPrint(sample.value).size();
  CheckEveryRequest("repr", [&] { return ReprPrint(sample.value).size() == size; });
}

TEST(Hash) {
  Sample sample;
  int64_t hash = RecursiveHash(sample.value);
  CheckEveryRequest("hash", [&] { return RecursiveHash(sample.value) == hash; });
}

TEST(Equality) {
  Sample lhs;
  Sample rhs;
  CheckEveryRequest("equality", [&] { return RecursiveEq(lhs.value, rhs.value); });
}

TEST(Order) {
  Any small = ObjectRef(ObjectPtr<Object>(make_object<HookedObj>(Array<Any>{"a", 1})));
  Any large = ObjectRef(ObjectPtr<Object>(make_object<HookedObj>(Array<Any>{"a", 2})));
  CheckEveryRequest("order", [&] { return RecursiveLt(small, large); });
}

TEST(Copy) {
  Sample sample;
  CheckEveryRequest("copy", [&] {
    Sample copy(DeepCopy(sample.value));
    return NodeObj::alive == 2;
  });
}

}  // namespace
