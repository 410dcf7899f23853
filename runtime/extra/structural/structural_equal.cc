// SPDX-License-Identifier: Apache-2.0
// Structural equality (StructuralEqual): walks both values in parallel with one explicit stack.
//
// Variables and DAG nodes are matched one to one: once two are found equal, each is equal to no
// other object.  Access paths are computed only for a mismatch, from the stack of the walk.
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ffi/reflection/registry.h>

#include <optional>
#include <utility>

#include "registration.h"
#include "structural/equal_path.h"
#include "structural/leaf.h"
#include "structural/matches.h"
#include "structural/rules.h"
#include "walk/hook_argument.h"
#include "walk/hook_scope.h"
#include "walk/value_access.h"

namespace tvm::ffi::extra {
namespace {

using reflection::AccessPathPair;
using reflection::AccessStep;

bool AreEqualLeaves(const Any& lhs, const Any& rhs) {
  return IsLeaf(lhs.type_index()) && AreLeavesEqual(lhs, rhs);
}

bool IsMatchedOneToOne(TVMFFISEqHashKind kind) {
  return kind == kTVMFFISEqHashKindFreeVar || kind == kTVMFFISEqHashKindDAGNode;
}

class EqualWalk {
 public:
  EqualWalk(bool map_free_vars, bool skip_tensor_content, bool finds_mismatch)
      : region_(map_free_vars ? kTVMFFIDefRegionKindPattern : kTVMFFIDefRegionKindNone),
        skip_tensor_content_(skip_tensor_content),
        finds_mismatch_(finds_mismatch) {}

  bool Equal(const Any& lhs, const Any& rhs) {
    Scope scope(this);
    Outcome outcome = Enter(lhs, rhs);
    while (outcome != Outcome::kDiffer) {
      if (path_.size() == scope.num_frames()) return scope.End(true);
      outcome = Step();
    }
    return scope.End(false);
  }

  // The access paths to the first difference, after Equal returned false.
  const Optional<AccessPathPair>& mismatch() const { return mismatch_; }

 private:
  // Result of the comparison of two values.  kPushed means that the values were pushed to the
  // stack, because the comparison of their children decides.
  enum class Outcome { kEqual, kDiffer, kPushed };

  using Frame = EqualPath::Frame;
  using Extra = EqualPath::Extra;

  // The scope of one call of Equal.  The destructor restores the stack of frames and the definition
  // region to their state before the call, also if a hook or a field getter throws.  It keeps the
  // matches that the call added only if the values are equal, and the mismatch only if the values
  // differ.
  class Scope {
   public:
    explicit Scope(EqualWalk* walk)
        : walk_(walk),
          num_frames_(walk->path_.size()),
          num_matches_(walk->matches_.size()),
          mismatch_(walk->mismatch_),
          region_(walk->region_) {}
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() {
      while (walk_->path_.size() > num_frames_) walk_->path_.Pop();
      walk_->region_ = region_;
      if (outcome_ != Outcome::kEqual) walk_->matches_.TruncateTo(num_matches_);
      if (outcome_ != Outcome::kDiffer) walk_->mismatch_ = std::move(mismatch_);
    }
    size_t num_frames() const { return num_frames_; }
    bool End(bool is_equal) {
      outcome_ = is_equal ? Outcome::kEqual : Outcome::kDiffer;
      return is_equal;
    }

   private:
    EqualWalk* walk_;
    size_t num_frames_;
    size_t num_matches_;
    Optional<AccessPathPair> mismatch_;
    TVMFFIDefRegionKind region_;
    Outcome outcome_ = Outcome::kPushed;
  };

  // Compares two values, or pushes a frame (an entry of the explicit stack) if their children must
  // be compared.  Rvalue arguments are moved into the frame.
  template <typename Value>
  Outcome Enter(Value&& lhs, Value&& rhs) {
    int32_t type_index = lhs.type_index();
    if (IsLeaf(type_index) || type_index != rhs.type_index()) {
      return Decide(AreLeavesEqual(lhs, rhs));
    }
    switch (type_index) {
      case kTVMFFIShape:
        return Decide(AreShapesEqual(lhs, rhs));
      case kTVMFFITensor:
        return Decide(AreTensorsEqual(lhs, rhs, skip_tensor_content_));
      case kTVMFFIArray:
      case kTVMFFIList:
        return EnterItems(std::forward<Value>(lhs), std::forward<Value>(rhs));
      case kTVMFFIMap:
      case kTVMFFIDict:
        return EnterPairs(std::forward<Value>(lhs), std::forward<Value>(rhs));
      default:
        return EnterObject(std::forward<Value>(lhs), std::forward<Value>(rhs));
    }
  }

  // ---- Recording of the mismatch --------------------------------------------------------------

  Outcome Decide(bool is_equal) { return is_equal ? Outcome::kEqual : Differ(); }

  // Records the access paths to the current children of the frames as the mismatch.
  Outcome Differ() {
    if (finds_mismatch_ && !mismatch_.has_value()) mismatch_ = path_.ToAccessPaths();
    return Outcome::kDiffer;
  }
  // Records a mismatch: one value of the innermost frame has a child that is missing in the other
  // value.
  Outcome DifferAtMissing(const AccessStep& lhs, const AccessStep& rhs) {
    path_.Pop();
    if (finds_mismatch_ && !mismatch_.has_value()) {
      AccessPathPair paths = path_.ToAccessPaths();
      mismatch_ = AccessPathPair(paths.get<0>()->Extend(lhs), paths.get<1>()->Extend(rhs));
    }
    return Outcome::kDiffer;
  }

  // ---- Comparison of sequences ----------------------------------------------------------------

  template <typename Value>
  Outcome EnterItems(Value&& lhs, Value&& rhs) {
    if (matches_.AreKnownEqual(ObjectOf(lhs), ObjectOf(rhs))) return Outcome::kEqual;
    // Sequences of different sizes differ.  If the caller wants the first mismatch, the elements
    // are compared nevertheless, because the mismatch may be in an element.
    if (!finds_mismatch_ && SizeOfSequence(lhs) != SizeOfSequence(rhs)) return Outcome::kDiffer;
    Push(Frame::Kind::kItems, std::forward<Value>(lhs), std::forward<Value>(rhs));
    Frame& frame = path_.back();
    frame.lhs_items = lists_.Readable(frame.lhs);
    frame.rhs_items = lists_.Readable(frame.rhs);
    return Outcome::kPushed;
  }

  Outcome StepItem(Frame* frame) {
    // Read the sizes of the sequences in each step: hooks may change a List.
    const SeqBaseObj* lhs = frame->lhs_items;
    const SeqBaseObj* rhs = frame->rhs_items;
    while (frame->next < lhs->size() && frame->next < rhs->size()) {
      const Any& lhs_item = lhs->begin()[frame->next];
      const Any& rhs_item = rhs->begin()[frame->next];
      ++frame->next;
      if (!AreEqualLeaves(lhs_item, rhs_item)) return Enter(lhs_item, rhs_item);
    }
    if (lhs->size() == rhs->size()) return Leave();
    auto position = static_cast<int64_t>(frame->next);
    AccessStep item = AccessStep::ArrayItem(position);
    AccessStep missing = AccessStep::ArrayItemMissing(position);
    return lhs->size() > rhs->size() ? DifferAtMissing(item, missing)
                                     : DifferAtMissing(missing, item);
  }

  // ---- Comparison of maps ---------------------------------------------------------------------

  template <typename Value>
  Outcome EnterPairs(Value&& lhs, Value&& rhs) {
    if (matches_.AreKnownEqual(ObjectOf(lhs), ObjectOf(rhs))) return Outcome::kEqual;
    if (!finds_mismatch_ && SizeOfTable(lhs) != SizeOfTable(rhs)) return Outcome::kDiffer;
    Push(Frame::Kind::kPairs, std::forward<Value>(lhs), std::forward<Value>(rhs));
    const Frame& frame = path_.back();
    // Always copy the left map, because the frame iterates over it and hooks may change a Dict
    // during the walk.
    path_.AddExtra({Snapshot::Always(frame.lhs), Snapshot(frame.rhs)});
    path_.last_extra().position = TableOf(path_.LhsOf(frame))->begin();
    return Outcome::kPushed;
  }

  Outcome StepPair(Frame* frame) {
    Extra& extra = path_.ExtraOf(*frame);
    if (frame->next++ > 0) ++extra.position;
    if (extra.position == TableOf(path_.LhsOf(*frame))->end()) return LeavePairs(*frame);
    const Any& lhs_key = extra.position->first;
    bool is_object = IsObjectKey(lhs_key);
    extra.key_or_name = is_object ? ToKey(matches_.RhsOf(ObjectOf(lhs_key))) : Any();
    const MapBaseObj* rhs = TableOf(path_.RhsOf(*frame));
    auto found = rhs->end();
    if (!is_object) {
      found = rhs->find(lhs_key);
    } else if (extra.key_or_name != nullptr) {
      found = rhs->find(extra.key_or_name);
      if (extra.key_or_name.same_as(lhs_key)) ++num_identity_keys_;
    }
    if (found != rhs->end()) return Enter(extra.position->second, found->second);
    const Any& rhs_key = extra.key_or_name == nullptr ? lhs_key : extra.key_or_name;
    return DifferAtMissing(AccessStep::MapItem(lhs_key), AccessStep::MapItemMissing(rhs_key));
  }

  // Ends a frame of kind kPairs after all keys of the left map were found in the right map.
  Outcome LeavePairs(const Frame& frame) {
    const MapBaseObj* lhs = TableOf(path_.LhsOf(frame));
    const Any& rhs = path_.RhsOf(frame);
    if (lhs->size() == SizeOfTable(rhs)) return Leave();
    // Iterate over a copy of the right map: the hash and equality hooks of keys may change the map.
    Snapshot rhs_copy = Snapshot::Always(rhs);
    for (const MapBaseObj::KVType& pair : *TableOf(rhs_copy.Or(rhs))) {
      Any lhs_key = pair.first;
      if (IsObjectKey(lhs_key)) lhs_key = ToKey(matches_.LhsOf(ObjectOf(lhs_key)));
      bool is_known = lhs_key != nullptr || pair.first == nullptr;
      if (is_known && lhs->count(lhs_key) != 0) continue;
      return DifferAtMissing(AccessStep::MapItemMissing(is_known ? lhs_key : pair.first),
                             AccessStep::MapItem(pair.first));
    }
    path_.Pop();  // a hook changed a Dict: the sizes differ, but all keys exist
    return Differ();
  }

  // Returns true if the map key is an object and not a leaf.  The walk may match an object with a
  // different object as its equal.
  static bool IsObjectKey(const Any& key) { return !IsLeaf(key.type_index()); }
  static Any ToKey(const Object* object) { return object != nullptr ? Any(object) : Any(); }

  // ---- Comparison of objects ------------------------------------------------------------------

  template <typename Value>
  Outcome EnterObject(Value&& lhs, Value&& rhs) {
    const TypeInfo* type = TVMFFIGetTypeInfo(lhs.type_index());
    TVMFFISEqHashKind kind = StructuralKindOf(type);
    const Object* l = ObjectOf(lhs);
    const Object* r = ObjectOf(rhs);
    if (kind == kTVMFFISEqHashKindUniqueInstance) return Decide(l == r);
    if (kind == kTVMFFISEqHashKindConstTreeNode && l == r) return Outcome::kEqual;
    if (IsMatchedOneToOne(kind)) {
      if (std::optional<bool> are_matched = matches_.AreMatched(l, r)) return Decide(*are_matched);
    } else if (matches_.AreKnownEqual(l, r)) {
      return Outcome::kEqual;
    }
    static const reflection::TypeAttrColumn hooks(type_attr::kSEqual);
    AnyView hook = hooks[lhs.type_index()];
    Push(hook == nullptr ? Frame::Kind::kFields : Frame::Kind::kHook, std::forward<Value>(lhs),
         std::forward<Value>(rhs));
    path_.back().structural_kind = kind;
    path_.back().fields = StructuralFieldsOf(type);
    return hook == nullptr ? Outcome::kPushed : CallHook(hook.as_or_throw<Function>());
  }

  Outcome StepField(Frame* frame) {
    while (const TVMFFIFieldInfo* field = frame->fields.Next()) {
      Any lhs = ReadField(ObjectOf(frame->lhs), field);
      Any rhs = ReadField(ObjectOf(frame->rhs), field);
      if (AreEqualLeaves(lhs, rhs)) continue;
      region_ = NestedRegion(region_, RegionOfField(field));
      return Enter(std::move(lhs), std::move(rhs));
    }
    return Leave();
  }

  // Calls the equality hook for the values of the innermost frame.
  Outcome CallHook(const Function& hook) {
    HookScope running(&hooks_, kStructuralLimits);
    path_.AddExtra({});
    const Frame& frame = path_.back();
    region_ = ContentRegion(region_, frame.structural_kind);
    // A hook may compare several alternatives, so keep the mismatch of a comparison inside the hook
    // only if the hook returns false.
    Optional<AccessPathPair> before = mismatch_;
    mismatch_ = std::nullopt;
    bool is_equal = hook(ObjectOf(frame.lhs), ObjectOf(frame.rhs), for_hook_.Get()).cast<bool>();
    if (is_equal || before.has_value()) mismatch_ = std::move(before);
    if (is_equal) return Leave();
    path_.Pop();
    return Differ();
  }

  bool EqualForHook(AnyView lhs, AnyView rhs, int region, AnyView name) {
    Scope scope(this);
    path_.last_extra().key_or_name = name;
    region_ = NestedRegion(region_, static_cast<TVMFFIDefRegionKind>(region));
    return scope.End(Equal(Any(lhs), Any(rhs)));
  }

  // ---- Stack of frames ------------------------------------------------------------------------

  template <typename Value>
  void Push(Frame::Kind kind, Value&& lhs, Value&& rhs) {
    kStructuralLimits.CheckDepth(path_.size());
    path_.Push({kind, kTVMFFISEqHashKindTreeNode, region_, FieldCursor(), 0, num_identity_keys_,
                std::forward<Value>(lhs), std::forward<Value>(rhs)});
  }

  // Compares the next children of the innermost frame, or ends the frame after the last ones.
  Outcome Step() {
    Frame* frame = &path_.back();
    region_ = ContentRegion(frame->region, frame->structural_kind);
    if (frame->kind == Frame::Kind::kItems) return StepItem(frame);
    return frame->kind == Frame::Kind::kPairs ? StepPair(frame) : StepField(frame);
  }

  // Ends the innermost frame, whose children are equal.
  Outcome Leave() {
    const Frame& frame = path_.back();
    bool is_equal = frame.structural_kind != kTVMFFISEqHashKindFreeVar ||
                    frame.region != kTVMFFIDefRegionKindNone || frame.lhs.same_as(frame.rhs);
    if (is_equal && IsMatchedOneToOne(frame.structural_kind)) {
      matches_.Match(frame.lhs, frame.rhs);
    } else if (is_equal && IsWorthRecording(frame)) {
      matches_.RememberEqual(frame.lhs, frame.rhs);
    }
    path_.Pop();
    return Decide(is_equal);
  }

  // Returns true if the pair of values should be recorded as equal, under two conditions.  First,
  // both values have owners besides their parent and the frame, so the walk may compare them again.
  // Second, no object key inside them was compared by identity.  Such a key may be matched with
  // another object later, so that the values would no longer be equal.
  bool IsWorthRecording(const Frame& frame) const {
    return path_.size() > 1 && ObjectOf(frame.lhs)->use_count() > 2 &&
           ObjectOf(frame.rhs)->use_count() > 2 && frame.num_identity_keys == num_identity_keys_;
  }

  EqualPath path_;
  ListCopies lists_;
  StructuralMatches matches_;
  size_t num_identity_keys_ = 0;  // number of object keys compared by identity so far
  Optional<AccessPathPair> mismatch_;
  TVMFFIDefRegionKind region_;  // definition region (role of variables) of the next values
  bool skip_tensor_content_;
  bool finds_mismatch_;
  RunningHooks hooks_;
  HookArgument<&EqualWalk::EqualForHook> for_hook_{this, &hooks_, &kStructuralLimits};
};

}  // namespace

void RegisterStructuralEqual() {
  reflection::EnsureTypeAttrColumn(type_attr::kSEqual);
  reflection::GlobalDef()
      .def("ffi.StructuralEqual", &StructuralEqual::Equal)
      .def("ffi.GetFirstStructuralMismatch", &StructuralEqual::GetFirstMismatch);
}

}  // namespace tvm::ffi::extra

namespace tvm::ffi {

bool StructuralEqual::Equal(const Any& lhs, const Any& rhs, bool map_free_vars,
                            bool skip_tensor_content) {
  return extra::EqualWalk(map_free_vars, skip_tensor_content, false).Equal(lhs, rhs);
}

Optional<reflection::AccessPathPair> StructuralEqual::GetFirstMismatch(const Any& lhs,
                                                                       const Any& rhs,
                                                                       bool map_free_vars,
                                                                       bool skip_tensor_content) {
  extra::EqualWalk walk(map_free_vars, skip_tensor_content, true);
  if (walk.Equal(lhs, rhs)) return std::nullopt;
  return walk.mismatch();
}

}  // namespace tvm::ffi
