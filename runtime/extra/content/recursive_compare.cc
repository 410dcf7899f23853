// SPDX-License-Identifier: Apache-2.0
// Comparison by content (RecursiveEq, RecursiveLt, ...): walks two values in parallel up to the
// first difference.
#include <tvm/ffi/big_int.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/reflection/registry.h>

#include <unordered_map>
#include <vector>

#include "content/leaf_compare.h"
#include "registration.h"
#include "walk/child_reader.h"
#include "walk/hook_argument.h"
#include "walk/hook_scope.h"

namespace tvm::ffi::extra {
namespace {

constexpr WalkLimits kLimits{"RecursiveCompare: "};

// A key of the set of compared pairs: two objects and the mode of their comparison.
struct ObjectPair {
  const Object* lhs;
  const Object* rhs;
  CompareMode mode;

  bool operator==(const ObjectPair& other) const {
    return lhs == other.lhs && rhs == other.rhs && mode == other.mode;
  }
};

// Hash of an ObjectPair.  Multiplies one of the addresses: objects that are allocated one after the
// other have regular distances, so the plain sum of both addresses would collide often.
struct ObjectPairHash {
  size_t operator()(const ObjectPair& pair) const {
    uint64_t hash = reinterpret_cast<uintptr_t>(pair.lhs) * uint64_t{11400714819323198485u};
    hash += reinterpret_cast<uintptr_t>(pair.rhs) + static_cast<uint64_t>(pair.mode);
    return static_cast<size_t>(hash ^ (hash >> 32));
  }
};

// Returns true if the type has no registered content: no metadata, no copy hook and no fields.
bool IsOpaque(int32_t type_index) {
  if (type_index == kTVMFFIObject || type_index == kTVMFFIModule) return true;
  static const reflection::TypeAttrColumn copies(type_attr::kShallowCopy);
  const TypeInfo* type = TVMFFIGetTypeInfo(type_index);
  return reflection::detail::MetadataOf(type) == nullptr && copies[type_index] == nullptr &&
         FieldCursor(type).Next() == nullptr;
}

// A pair that was found equal is not compared again.  A pair whose comparison is in progress is
// assumed to be equal, because the comparison in progress will find any difference.  The assumption
// holds only until a difference is found, so a call of Compare that finds one removes the pairs
// that it added.
class RecursiveComparer {
 public:
  // Hooks call this function recursively; a nested call pushes its frames above the frames of the
  // outer call.
  int Compare(const Any& lhs, const Any& rhs, CompareMode mode) {
    Scope scope(this, mode);
    int result = Begin(lhs, rhs);
    while (result == 0 && open_.size() > scope.first_open()) result = Advance();
    if (result == 0) {
      scope.KeepPairs();
    } else if (mode == CompareMode::kOrder) {
      RequireNoOpenTable(scope.first_open());
    }
    return result;
  }

 private:
  // A frame of the traversal stack: two objects whose children are being compared.
  struct Open {
    Open(const Any& lhs, const Any& rhs)
        : children(lhs, kTVMFFIFieldFlagBitMaskCompareOff), rhs(rhs), rhs_copy(rhs) {}
    const Any& RhsContainer() const { return rhs_copy.Or(rhs); }
    ChildReader children;  // reader of the children of the left object
    Any rhs;
    Snapshot rhs_copy;
  };
  // The state of a known pair.  The references to both objects are owned, so that no other objects
  // get the addresses of the pair.
  struct Known {
    Any lhs;
    Any rhs;
    bool is_done = false;  // false while the pair is being compared
  };

  // Restores the stack and the mode when a call of Compare ends, also by an exception.  Removes the
  // pairs that the call added unless KeepPairs was called.
  class Scope {
   public:
    Scope(RecursiveComparer* comparer, CompareMode mode)
        : comparer_(comparer),
          outer_mode_(comparer->mode_),
          first_open_(comparer->open_.size()),
          first_added_(comparer->added_.size()) {
      comparer->mode_ = mode;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() {
      comparer_->mode_ = outer_mode_;
      while (comparer_->open_.size() > first_open_) comparer_->open_.pop_back();
      while (!keep_pairs_ && comparer_->added_.size() > first_added_) {
        comparer_->known_.erase(comparer_->added_.back());
        comparer_->added_.pop_back();
      }
    }
    size_t first_open() const { return first_open_; }
    void KeepPairs() { keep_pairs_ = true; }

   private:
    RecursiveComparer* comparer_;
    CompareMode outer_mode_;
    size_t first_open_;
    size_t first_added_;
    bool keep_pairs_ = false;
  };

  // Throws if a map is on the stack: maps have no order, so a difference inside a map cannot decide
  // the order of the values.
  void RequireNoOpenTable(size_t first_open) const {
    for (size_t i = first_open; i < open_.size(); ++i) {
      if (open_[i].children.kind() == ChildKind::kPairs) ThrowNoOrderOfTables();
    }
  }
  [[noreturn]] static void ThrowNoOrderOfTables() {
    TVM_FFI_THROW(TypeError) << "cannot order Map or Dict values, because maps have no order";
    TVM_FFI_UNREACHABLE();
  }

  bool IsOrder() const { return mode_ == CompareMode::kOrder; }

  // Returns the result of the comparison.  If the children must be compared first, pushes the pair
  // and returns 0.
  int Begin(const Any& lhs, const Any& rhs) {
    bool may_be_nan = lhs.type_index() == kTVMFFIFloat && IsOrder();
    if (lhs.same_as(rhs) && !may_be_nan) return 0;
    bool is_leaf = ChildKindOf(lhs) == ChildKind::kNone || lhs.type_index() != rhs.type_index();
    if (is_leaf) return CompareLeaves(lhs, rhs, mode_);
    switch (ChildKindOf(lhs)) {
      case ChildKind::kElements:
        return BeginElements(lhs, rhs);
      case ChildKind::kPairs:
        return BeginTables(lhs, rhs);
      default:
        return BeginObjects(lhs, rhs);
    }
  }

  int BeginElements(const Any& lhs, const Any& rhs) {
    if (!IsOrder() && SizeOfSequence(lhs) != SizeOfSequence(rhs)) return 1;
    return Push(lhs, rhs);
  }

  int BeginTables(const Any& lhs, const Any& rhs) {
    if (SizeOfTable(lhs) == SizeOfTable(rhs)) return Push(lhs, rhs);
    return DifferInSize();
  }
  int DifferInSize() const {
    if (IsOrder()) ThrowNoOrderOfTables();
    return 1;
  }

  int BeginObjects(const Any& lhs, const Any& rhs) {
    static const reflection::TypeAttrColumn eq_hooks(type_attr::kEq);
    static const reflection::TypeAttrColumn compare_hooks(type_attr::kCompare);
    int32_t type = lhs.type_index();
    if (!IsOrder()) {
      if (auto hook = type_attr::kEq.ValueFrom(eq_hooks[type])) {
        return CallHook(lhs, rhs, [&](const Object* l, const Object* r) {
          return (*hook)(l, r, equal_for_hook_.Get()) ? 0 : 1;
        });
      }
    }
    if (auto hook = type_attr::kCompare.ValueFrom(compare_hooks[type])) {
      return CallHook(lhs, rhs, [&](const Object* l, const Object* r) {
        // A hook in another language may return a number beyond the range of int.
        auto result = hook->packed()(l, r, compare_for_hook_.Get()).template cast<int64_t>();
        return result < 0 ? -1 : (result > 0 ? 1 : 0);
      });
    }
    if (!IsOpaque(type)) return Push(lhs, rhs);
    if (IsSameOpaque(lhs, rhs)) return 0;
    if (IsOrder()) ThrowNoOrder(type);
    return 1;
  }

  bool EqualForHook(AnyView lhs, AnyView rhs) {
    return Compare(Any(lhs), Any(rhs), CompareMode::kEquality) == 0;
  }
  int CompareForHook(AnyView lhs, AnyView rhs) { return Compare(Any(lhs), Any(rhs), mode_); }

  // Calls a comparison hook for two objects.  Adds the pair to known_, which then owns both
  // objects, because the hook may remove the objects from their containers.
  template <typename Call>
  int CallHook(const Any& lhs, const Any& rhs, Call&& call) {
    HookScope running(&hooks_, kLimits);
    ObjectPair pair = PairOf(lhs, rhs);
    if (!Add(lhs, rhs)) return 0;
    int result = call(pair.lhs, pair.rhs);
    if (result == 0) MarkDone(pair);
    return result;
  }

  int Push(const Any& lhs, const Any& rhs) {
    if (!Add(lhs, rhs)) return 0;
    kLimits.CheckDepth(open_.size());
    open_.emplace_back(lhs, rhs);
    return 0;
  }

  // Adds a pair to known_.  Returns false if the pair was already in known_, which means that no
  // difference was found so far.
  bool Add(const Any& lhs, const Any& rhs) {
    ObjectPair pair = PairOf(lhs, rhs);
    auto [known, is_new] = known_.try_emplace(pair, Known{lhs, rhs});
    if (!is_new) {
      if (!IsOrder() || known->second.is_done) return false;
      TVM_FFI_THROW(ValueError) << kLimits.service << "cannot order a value that contains itself";
    }
    try {
      added_.push_back(pair);
    } catch (...) {
      known_.erase(pair);
      throw;
    }
    return true;
  }
  void MarkDone(const ObjectPair& pair) { known_.at(pair).is_done = true; }
  ObjectPair PairOf(const Any& lhs, const Any& rhs) const {
    return {ObjectOf(lhs), ObjectOf(rhs), mode_};
  }

  // Compares the next children of the top pair of the stack, or pops the pair after the last
  // children.
  int Advance() {
    Open& open = open_.back();
    const Any* child = open.children.Next();
    if (child == nullptr) return Close();
    switch (open.children.kind()) {
      case ChildKind::kElements:
        return CompareElement(open, *child);
      case ChildKind::kPairs:
        return CompareTableEntry(&open, *child);
      default: {
        Any other = ReadField(ObjectOf(open.rhs), open.children.field());
        return Begin(*child, other);
      }
    }
  }

  int CompareElement(const Open& open, const Any& element) {
    const SeqBaseObj* other = SequenceOf(open.RhsContainer());
    size_t index = open.children.count() - 1;
    return index < other->size() ? Begin(element, other->begin()[index]) : 1;
  }

  // Compares the values of `key` on both sides.  The left value is the next child.
  int CompareTableEntry(Open* open, const Any& key) {
    const MapBaseObj* other = TableOf(open->RhsContainer());
    auto found = other->find(key);
    return found != other->end() ? Begin(*open->children.Next(), found->second) : 1;
  }

  // Returns the result of the top pair after all children of the left object were found equal.  Of
  // two sequences, the shorter one is less.  The sizes of maps were equal in BeginTables, but the
  // maps may have changed before they were copied.
  int Close() {
    const Open& open = open_.back();
    ChildKind kind = open.children.kind();
    const Any& other = open.RhsContainer();
    if (kind == ChildKind::kElements && SequenceOf(other)->size() > open.children.count()) {
      return -1;
    }
    if (kind == ChildKind::kPairs && TableOf(other)->size() != open.children.size()) {
      return DifferInSize();
    }
    MarkDone(PairOf(open.children.value(), open.rhs));
    open_.pop_back();
    return 0;
  }

  CompareMode mode_ = CompareMode::kEquality;
  std::vector<Open> open_;
  std::unordered_map<ObjectPair, Known, ObjectPairHash> known_;
  std::vector<ObjectPair> added_;  // the keys of known_ in the order of insertion
  RunningHooks hooks_;
  HookArgument<&RecursiveComparer::EqualForHook> equal_for_hook_{this, &hooks_, &kLimits};
  HookArgument<&RecursiveComparer::CompareForHook> compare_for_hook_{this, &hooks_, &kLimits};
};

int CompareInOrder(const Any& lhs, const Any& rhs) {
  return RecursiveComparer().Compare(lhs, rhs, CompareMode::kOrder);
}

bool EqualBigInts(const BigInt& lhs, const BigInt& rhs,
                  const TypedFunction<bool(AnyView, AnyView)>&) {
  return lhs == rhs;
}

int CompareBigInts(const BigInt& lhs, const BigInt& rhs,
                   const TypedFunction<int(AnyView, AnyView)>&) {
  return CompareLeaves(Any(lhs), Any(rhs), CompareMode::kOrder);
}

}  // namespace
}  // namespace tvm::ffi::extra

namespace tvm::ffi {

bool RecursiveEq(const Any& lhs, const Any& rhs) {
  using extra::CompareMode;
  return extra::RecursiveComparer().Compare(lhs, rhs, CompareMode::kEquality) == 0;
}
bool RecursiveLt(const Any& lhs, const Any& rhs) { return extra::CompareInOrder(lhs, rhs) < 0; }
bool RecursiveLe(const Any& lhs, const Any& rhs) { return extra::CompareInOrder(lhs, rhs) <= 0; }
bool RecursiveGt(const Any& lhs, const Any& rhs) { return extra::CompareInOrder(lhs, rhs) > 0; }
bool RecursiveGe(const Any& lhs, const Any& rhs) { return extra::CompareInOrder(lhs, rhs) >= 0; }

void extra::RegisterRecursiveCompare() {
  reflection::EnsureTypeAttrColumn(type_attr::kEq);
  reflection::EnsureTypeAttrColumn(type_attr::kCompare);
  reflection::TypeAttrDef<detail::BigIntObj>()
      .def(type_attr::kEq, &extra::EqualBigInts)
      .def(type_attr::kCompare, &extra::CompareBigInts);
  reflection::GlobalDef()
      .def("ffi.RecursiveEq", &RecursiveEq)
      .def("ffi.RecursiveLt", &RecursiveLt)
      .def("ffi.RecursiveLe", &RecursiveLe)
      .def("ffi.RecursiveGt", &RecursiveGt)
      .def("ffi.RecursiveGe", &RecursiveGe);
}

}  // namespace tvm::ffi
