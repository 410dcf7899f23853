// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <tvm/ffi/reflection/access_path.h>

#include "thrown.h"

namespace {

using namespace tvm::ffi;
using reflection::AccessKind;
using reflection::AccessPath;
using reflection::AccessPathObj;
using reflection::AccessStep;
using reflection::AccessStepObj;

template <typename Class, typename Member>
int64_t OffsetIn(const ObjectPtr<Class>& object, const Member& member) {
  return reinterpret_cast<const char*>(&member) -
         reinterpret_cast<const char*>(static_cast<const Object*>(object.get()));
}

TEST_CASE("layout") {
  auto step = make_object<AccessStepObj>();
  CHECK_EQ(OffsetIn(step, step->kind), 24);
  CHECK_EQ(OffsetIn(step, step->key), 32);
  auto path = make_object<AccessPathObj>();
  CHECK_EQ(OffsetIn(path, path->parent), 24);
  CHECK_EQ(OffsetIn(path, path->step), 32);
  CHECK_EQ(OffsetIn(path, path->depth), 40);
}

AccessPath Sample() { return AccessPath::Root()->Attr("args")->ArrayItem(3)->MapItem("key"); }

TEST_CASE("steps are listed from the root") {
  Array<AccessStep> steps = Sample()->ToSteps();
  CHECK_EQ(steps.size(), size_t{3});
  CHECK_EQ(steps[0]->kind, AccessKind::kAttr);
  CHECK_EQ(steps[0]->key.cast<std::string>(), "args");
  CHECK_EQ(steps[1]->kind, AccessKind::kArrayItem);
  CHECK_EQ(steps[1]->key.cast<int>(), 3);
  CHECK_EQ(steps[2]->kind, AccessKind::kMapItem);
  CHECK_EQ(AccessPath::Root()->ToSteps().size(), size_t{0});
  CHECK(AccessPath::FromSteps(steps)->PathEqual(Sample()));
  CHECK_EQ(AccessPath::Root()->AttrMissing("a")->step.value()->kind, AccessKind::kAttrMissing);
  CHECK_EQ(AccessPath::Root()->ArrayItemMissing(1)->step.value()->kind,
           AccessKind::kArrayItemMissing);
  CHECK_EQ(AccessPath::Root()->MapItemMissing(1)->step.value()->kind, AccessKind::kMapItemMissing);
}

TEST_CASE("equality") {
  CHECK(Sample()->PathEqual(Sample()));
  CHECK(!Sample()->PathEqual(Sample()->Attr("x")));
  CHECK(!Sample()->PathEqual(AccessPath::Root()->Attr("args")->ArrayItem(4)->MapItem("key")));
  CHECK(!Sample()->PathEqual(AccessPath::Root()->Attr("args")->MapItem(3)->MapItem("key")));
  // Keys compare like map keys: strings by content, whether inline or on the heap.
  CHECK(AccessPath::Root()
            ->MapItem(String(std::string("k")))
            ->PathEqual(AccessPath::Root()->MapItem("k")));
  CHECK(!AccessPath::Root()->MapItem(1)->PathEqual(AccessPath::Root()->MapItem(1.0)));
}

TEST_CASE("prefix") {
  AccessPath path = Sample();
  CHECK(AccessPath::Root()->IsPrefixOf(path));
  CHECK(path->IsPrefixOf(path));
  CHECK(path->GetParent().value()->IsPrefixOf(path));
  CHECK(!path->IsPrefixOf(path->GetParent().value()));
  CHECK(!AccessPath::Root()->Attr("x")->IsPrefixOf(path));
  CHECK(!AccessPath::Root()->GetParent().has_value());
}

// A path deeper than the machine stack allows; the walk is a loop, not a recursion.
TEST_CASE("deep paths") {
  AccessPath left = AccessPath::Root();
  AccessPath right = AccessPath::Root();
  for (int i = 0; i < 10000; ++i) {
    left = left->ArrayItem(i);
    right = right->ArrayItem(i);
  }
  CHECK_EQ(left->depth, 10000);
  CHECK(left->PathEqual(right));
  CHECK_EQ(left->ToSteps()[9999]->key.cast<int>(), 9999);
}

}  // namespace
