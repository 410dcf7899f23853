// SPDX-License-Identifier: Apache-2.0
// Structural visits and mutations: visitors, hooks and callbacks of one library over values of the
// other.
//
// Both libraries declare the classes here, but only the library that creates a tree registers them.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/extra/structural_mutate.h>
#include <tvm/ffi/extra/structural_visit.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

#include <string>

#include "check.h"

namespace exchange {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

using Changed = UnchangedOr<Any>;

// ---- Classes ------------------------------------------------------------------------------------

class SplitObj : public Object {
 public:
  Any left;
  Any right;
  SplitObj() = default;
  SplitObj(Any left, Any right) : left(std::move(left)), right(std::move(right)) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("exchange.Split", SplitObj, Object);
};
// A class without registered fields.
class WrapObj : public Object {
 public:
  Any content;
  WrapObj() = default;
  explicit WrapObj(Any content) : content(std::move(content)) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("exchange.Wrap", WrapObj, Object);
};

ObjectRef Split(Any left, Any right) {
  return ObjectRef(make_object<SplitObj>(std::move(left), std::move(right)));
}
ObjectRef Wrap(Any content) { return ObjectRef(make_object<WrapObj>(std::move(content))); }

Optional<VisitInterrupt> VisitHooked(StructuralVisitorObj* visitor, AnyView value) {
  return visitor->Visit(value.as<WrapObj>()->content);
}
Changed MutateHooked(StructuralMutatorObj* mutator, AnyView value) {
  Changed content = mutator->Mutate(value.as<WrapObj>()->content);
  if (content.IsUnchanged()) return Unchanged();
  return Any(Wrap(std::move(content).ValueUnchecked()));
}

bool RegisterVisited() {
  refl::ObjectDef<SplitObj>().def_ro("left", &SplitObj::left).def_ro("right", &SplitObj::right);
  refl::ObjectDef<WrapObj>();
  refl::TypeAttrDef<WrapObj>()
      .native_fn_attr<&VisitHooked>(type_attr::kStructuralVisit)
      .native_fn_attr<&MutateHooked>(type_attr::kStructuralMutate);
  return true;
}

void EnsureRegistered() { [[maybe_unused]] static bool registered = RegisterVisited(); }

ObjectRef MakeVisitedTree(Any) {
  EnsureRegistered();
  Dict<Any, Any> dict{{5, Array<Any>{3, 4}}};
  return Split(List<Any>{1, Map<Any, Any>{{"key", 2}}}, Wrap(dict));
}

// ---- Callbacks ----------------------------------------------------------------------------------

std::string NumbersIn(const Any& value) {
  std::string text;
  StructuralWalk<WalkOrder::kPreOrder>(value, [&](int64_t number) {
    text += std::to_string(number) + " ";
    return WalkResult::Advance();
  });
  return text;
}

ObjectRef WalkTree(ObjectRef tree) {
  CHECK_EQ(NumbersIn(tree), "1 2 3 4 ");
  std::string keys;
  StructuralWalk<WalkOrder::kPostOrder>(tree, [&](const ObjectRef& object) {
    keys += object.GetTypeKey() + " ";
    return WalkResult::Advance();
  });
  CHECK_EQ(keys, "ffi.Map ffi.List ffi.Array ffi.Dict exchange.Wrap exchange.Split ");
  Optional<VisitInterrupt> interrupt =
      StructuralWalk<WalkOrder::kPreOrder>(tree, [](int64_t number) {
        return number == 3 ? WalkResult::Interrupt(VisitInterrupt(number)) : WalkResult::Advance();
      });
  CHECK_EQ(interrupt.value()->value.cast<int64_t>(), 3);
  return tree;
}

ObjectRef MapTree(ObjectRef tree) {
  auto add_ten = [](int64_t number) { return number + 10; };
  ObjectRef pre = StructuralMap<WalkOrder::kPreOrder>(tree, add_ten).cast<ObjectRef>();
  CHECK_EQ(NumbersIn(pre), "11 12 13 14 ");
  CHECK_EQ(NumbersIn(tree), "1 2 3 4 ");
  ObjectRef post = StructuralMap<WalkOrder::kPostOrder>(std::move(pre), add_ten).cast<ObjectRef>();
  return post;
}
void CheckMappedTree(ObjectRef tree) {
  CHECK_EQ(NumbersIn(tree), "21 22 23 24 ");
  const auto* split = tree.as<SplitObj>();
  CHECK_EQ(split->left.cast<List<Any>>()[0].cast<int64_t>(), 21);
  auto dict = split->right.as<WrapObj>()->content.cast<Dict<int64_t, Array<int64_t>>>();
  CHECK_EQ(dict[5][1], 24);
}

// ---- Errors -------------------------------------------------------------------------------------

ObjectRef MakeSplits(Any) {
  EnsureRegistered();
  return Split(1, Split(2, Split(3, nullptr)));
}
void FailInSplits(ObjectRef root) {
  StructuralWalk<WalkOrder::kPostOrder>(root, [](int64_t number) -> WalkResult {
    if (number == 3) TVM_FFI_THROW(ValueError) << "three";
    return WalkResult::Advance();
  });
}
void CheckFailedVisit(Error error) {
  CHECK_EQ(error.message(), "three");
  VisitErrorContext context = VisitErrorContext::TryGetFromError(error).value();
  List<ObjectRef> objects = context->reverse_visit_pattern;
  CHECK_EQ(objects.size(), size_t{3});
  ObjectRef root = objects[2];
  CHECK_EQ(NumbersIn(root), "1 2 3 ");
  Array<refl::AccessPath> paths = VisitErrorContext::FindAccessPaths(root, context);
  CHECK_EQ(paths.size(), size_t{1});
  CHECK(paths[0]->PathEqual(refl::AccessPath::Root()->Attr("right")->Attr("right")));
}

// ---- Visitors and mutators for the other library -----------------------------------------------

template <typename T>
TVMFFIAny Return(Expected<T> outcome) {
  return detail::AnyUnsafe::MoveAnyToTVMFFIAny(Any(std::move(outcome)));
}

namespace {

class SummingVisitorObj : public StructuralVisitorObj {
 public:
  int64_t sum = 0;
  SummingVisitorObj() : StructuralVisitorObj(&kVTable) {}

 private:
  static TVMFFIAny VisitNode(StructuralVisitorObj* self, AnyView value) noexcept {
    if (auto number = value.as<int64_t>()) static_cast<SummingVisitorObj*>(self)->sum += *number;
    return Return(self->DefaultVisitExpected(value));
  }
  static inline const StructuralVisitorVTable kVTable{&VisitNode};
};

}  // namespace

StructuralVisitor MakeVisitor(Any) {
  EnsureRegistered();
  return StructuralVisitor(make_object<SummingVisitorObj>());
}
StructuralVisitor VisitOwnTree(StructuralVisitor visitor) {
  visitor->Visit(Array<Any>{1, List<Any>{20}, Map<Any, Any>{{7, 300}}, Dict<Any, Any>{{7, 4000}}});
  visitor->Visit(Split(10000, Wrap(200000)));
  return visitor;
}
void CheckVisitor(StructuralVisitor visitor) {
  CHECK_EQ(static_cast<SummingVisitorObj*>(visitor.get())->sum, 214321);
}

namespace {

class DoublingMutatorObj : public StructuralMutatorObj {
 public:
  DoublingMutatorObj() : StructuralMutatorObj(&kVTable) {}

 private:
  template <InplaceMode mode>
  static TVMFFIAny MutateNode(StructuralMutatorObj* self, AnyView value) noexcept {
    if (auto number = value.as<int64_t>()) return Return(Expected<Changed>(Any(2 * *number)));
    return Return(self->DefaultMutateExpected(value, mode));
  }
  static TVMFFIAny Get(StructuralMutatorObj*, AnyView) noexcept {
    return AnyView().CopyToTVMFFIAny();
  }
  static TVMFFIAny Set(StructuralMutatorObj*, AnyView, AnyView) noexcept {
    return AnyView().CopyToTVMFFIAny();
  }
  static inline const StructuralMutatorVTable kVTable{&MutateNode<InplaceMode::kDisallow>,
                                                      &MutateNode<InplaceMode::kAllow>, &Get, &Set};
};

}  // namespace

StructuralMutator MakeMutator(Any) {
  EnsureRegistered();
  return StructuralMutator(make_object<DoublingMutatorObj>());
}
void MutateOwnTree(StructuralMutator mutator) {
  Any tree = Array<Any>{1, List<Any>{2}, Dict<Any, Any>{{7, 3}}, Split(4, Wrap(5))};
  Any copy = mutator->Mutate(tree).ValueOrUnchanged(tree);
  CHECK_EQ(NumbersIn(copy), "2 4 6 8 10 ");
  CHECK_EQ(NumbersIn(tree), "1 2 3 4 5 ");
  const Object* address = copy.as<Object>();
  CHECK(mutator->Mutate(copy, InplaceMode::kAllow).IsUnchanged());
  CHECK(copy.as<Object>() == address);
  CHECK_EQ(NumbersIn(copy), "4 8 12 16 20 ");
}

}  // namespace exchange

TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_visited_tree, exchange::MakeVisitedTree)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(walk_tree, exchange::WalkTree)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(map_tree, exchange::MapTree)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_mapped_tree, exchange::CheckMappedTree)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_splits, exchange::MakeSplits)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(fail_in_splits, exchange::FailInSplits)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_failed_visit, exchange::CheckFailedVisit)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_visitor, exchange::MakeVisitor)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(visit_own_tree, exchange::VisitOwnTree)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_visitor, exchange::CheckVisitor)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_mutator, exchange::MakeMutator)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(mutate_own_tree, exchange::MutateOwnTree)
