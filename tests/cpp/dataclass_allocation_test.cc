// SPDX-License-Identifier: Apache-2.0
// Every memory request of the dataclass services fails once: the service reports it and leaks
// nothing (AddressSanitizer reports leaks).
#include <tvm/ffi/big_int.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/reflection/registry.h>

#include "every_request.h"

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

// Each hook calls the function that it receives as an argument, and returns its result.
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

// A value that contains itself; its destructor breaks the cycle.
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

template <typename Call>
void CheckEveryRequest(const char* label, Call call) {
  CheckEveryRequest(label, &NodeObj::alive, call);
}

TEST_CASE("repr") {
  Sample sample;
  size_t size = ReprPrint(sample.value).size();
  CheckEveryRequest("repr", [&] { return ReprPrint(sample.value).size() == size; });
}

TEST_CASE("hash") {
  Sample sample;
  int64_t hash = RecursiveHash(sample.value);
  CheckEveryRequest("hash", [&] { return RecursiveHash(sample.value) == hash; });
}

TEST_CASE("equality") {
  Sample lhs;
  Sample rhs;
  CheckEveryRequest("equality", [&] { return RecursiveEq(lhs.value, rhs.value); });
}

TEST_CASE("order") {
  Any small = ObjectRef(ObjectPtr<Object>(make_object<HookedObj>(Array<Any>{"a", 1})));
  Any large = ObjectRef(ObjectPtr<Object>(make_object<HookedObj>(Array<Any>{"a", 2})));
  CheckEveryRequest("order", [&] { return RecursiveLt(small, large); });
}

TEST_CASE("copy") {
  Sample sample;
  CheckEveryRequest("copy", [&] {
    Sample copy(DeepCopy(sample.value));
    return NodeObj::alive == 2;
  });
}

}  // namespace
