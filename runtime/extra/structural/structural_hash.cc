// SPDX-License-Identifier: Apache-2.0
// Structural hash (StructuralHash::Hash).  The order of the steps is part of the ABI contract.  For
// an object:
//   1. Start with the hash of the type key.
//   2. Combine the hashes of the fields, or call the hook of the type.
//   3. For a variable inside a definition region, combine the next variable number.  For a variable
//      outside, use its address as the hash.  For a DAG node, combine the next node number.
//   4. Store the hash, which is used wherever the object occurs again.
#include <tvm/ffi/extra/structural_hash.h>
#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "content/shape_hash.h"
#include "registration.h"
#include "structural/leaf.h"
#include "structural/rules.h"
#include "walk/hook_argument.h"
#include "walk/hook_scope.h"
#include "walk/object_table.h"
#include "walk/snapshot.h"
#include "walk/value_access.h"

namespace tvm::ffi::extra {
namespace {

uint64_t Combine(uint64_t key, uint64_t value) { return detail::StableHashCombine(key, value); }

uint64_t TypeKeyHashOf(const Any& object) { return ObjectOf(object)->GetTypeKeyHash(); }

class HashWalk {
 public:
  HashWalk(bool map_free_vars, bool skip_tensor_content)
      : region_(map_free_vars ? kTVMFFIDefRegionKindPattern : kTVMFFIDefRegionKindNone),
        skip_tensor_content_(skip_tensor_content) {}

  uint64_t Hash(const Any& value) {
    Scope scope(this);
    std::optional<uint64_t> hash = Enter(value);
    while (!hash.has_value() || frames_.size() > scope.num_frames()) {
      if (hash.has_value()) frames_.back().hash = Combine(frames_.back().hash, *hash);
      hash = Step();
    }
    return *hash;
  }

 private:
  // An entry of the explicit stack: a value whose children are being hashed.
  struct Frame {
    enum class Kind : uint8_t { kItems, kPairs, kFields };
    Kind kind;
    TVMFFISEqHashKind structural_kind;  // kFields: structural kind of the type
    TVMFFIDefRegionKind region;         // definition region (role of variables) of the value
    FieldCursor fields;                 // kFields: the current field
    size_t next;                        // index of the next child in items or (kPairs) in pairs_
    size_t pairs_begin;                 // index in pairs_ of the first pair of this frame
    size_t num_skipped_keys;            // HashWalk::num_skipped_keys_ when the frame was pushed
    uint64_t hash;                      // hash of the type key and the children so far
    Any value;
    const SeqBaseObj* items = nullptr;  // kItems: the sequence, or its copy in lists_
  };
  struct Pair {
    uint64_t key_hash;
    Any value;
  };

  // The scope of one call of Hash.  The destructor restores the stack of frames and the definition
  // region to their state before the call, also if a hook or a field getter throws.
  class Scope {
   public:
    explicit Scope(HashWalk* walk)
        : walk_(walk), num_frames_(walk->frames_.size()), region_(walk->region_) {}
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() {
      while (walk_->frames_.size() > num_frames_) walk_->Pop();
      walk_->region_ = region_;
    }
    size_t num_frames() const { return num_frames_; }

   private:
    HashWalk* walk_;
    size_t num_frames_;
    TVMFFIDefRegionKind region_;
  };

  // Returns the hash of a value, or nullopt after it pushes a frame because the children must be
  // hashed first.  An rvalue argument is moved into the frame.
  template <typename Value>
  std::optional<uint64_t> Enter(Value&& value) {
    if (IsLeaf(value.type_index())) return HashOfLeaf(value);
    switch (value.type_index()) {
      case kTVMFFIArray:
      case kTVMFFIList:
        return EnterItems(std::forward<Value>(value));
      case kTVMFFIMap:
      case kTVMFFIDict:
        return EnterPairs(std::forward<Value>(value));
      case kTVMFFIShape:
        return HashOfShape(value);
      case kTVMFFITensor:
        return HashOfTensor(value, skip_tensor_content_);
      default:
        return EnterObject(std::forward<Value>(value));
    }
  }

  static std::optional<uint64_t> Find(const ObjectTable<uint64_t>& hashes, const Any& value) {
    const uint64_t* hash = hashes.Find(ObjectOf(value));
    return hash != nullptr ? std::optional<uint64_t>(*hash) : std::nullopt;
  }

  // ---- Hash of containers ---------------------------------------------------------------------

  template <typename Value>
  std::optional<uint64_t> EnterItems(Value&& value) {
    if (std::optional<uint64_t> hash = Find(container_hashes_, value)) return hash;
    const SeqBaseObj* items = lists_.Readable(value);
    uint64_t hash = Combine(TypeKeyHashOf(value), items->size());
    Push(Frame::Kind::kItems, std::forward<Value>(value), hash);
    frames_.back().items = items;
    return std::nullopt;
  }

  template <typename Value>
  std::optional<uint64_t> EnterPairs(Value&& value) {
    if (std::optional<uint64_t> hash = Find(container_hashes_, value)) return hash;
    const MapBaseObj* table = TableOf(value);
    ObjectLock lock(table);
    uint64_t hash = Combine(TypeKeyHashOf(value), table->size());
    Push(Frame::Kind::kPairs, std::forward<Value>(value), hash);
    for (const MapBaseObj::KVType& pair : *table) {
      if (std::optional<uint64_t> key_hash = FindKeyHash(pair.first)) {
        pairs_.push_back({*key_hash, pair.second});
      } else {
        ++num_skipped_keys_;
      }
    }
    // Sort the pairs by the hash of the key, because the order of insertion must not matter.
    std::sort(pairs_.begin() + static_cast<ptrdiff_t>(frames_.back().pairs_begin), pairs_.end(),
              [](const Pair& a, const Pair& b) { return a.key_hash < b.key_hash; });
    return std::nullopt;
  }

  // Returns the hash of a map key, or nullopt for an object that was not hashed before.  The caller
  // skips the pair of such a key.
  std::optional<uint64_t> FindKeyHash(const Any& key) const {
    if (IsLeaf(key.type_index())) return HashOfKey(key);
    return Find(object_hashes_, key);
  }

  std::optional<uint64_t> StepItem(Frame* frame) {
    // Read the size of the sequence in each step: hooks may change a List.
    const SeqBaseObj* items = frame->items;
    while (frame->next < items->size()) {
      const Any& item = items->begin()[frame->next++];
      if (!IsLeaf(item.type_index())) return Enter(item);
      frame->hash = Combine(frame->hash, HashOfLeaf(item));
    }
    return Leave();
  }

  std::optional<uint64_t> StepPair(Frame* frame) {
    while (frame->next < pairs_.size()) {
      size_t first = frame->next++;
      uint64_t key_hash = pairs_[first].key_hash;
      frame->hash = Combine(frame->hash, key_hash);
      while (frame->next < pairs_.size() && pairs_[frame->next].key_hash == key_hash) {
        ++frame->next;
      }
      // The order of keys with equal hashes is undefined, so their values are skipped.
      if (frame->next == first + 1) return Enter(Any(std::move(pairs_[first].value)));
    }
    return Leave();
  }

  // Returns true if the hash of a container should be stored, under two conditions.  First, the
  // container has owners besides its parent and the frame, so the walk may hash it again.  Second,
  // the walk skipped no map key inside the container.  A skipped key may be hashed later, and then
  // the hash of the container would be different.
  bool IsWorthStoring(const Frame& frame) const {
    return frames_.size() > 1 && ObjectOf(frame.value)->use_count() > 2 &&
           frame.num_skipped_keys == num_skipped_keys_;
  }

  // ---- Hash of objects ------------------------------------------------------------------------

  template <typename Value>
  std::optional<uint64_t> EnterObject(Value&& value) {
    if (std::optional<uint64_t> hash = Find(object_hashes_, value)) return hash;
    const TypeInfo* type = TVMFFIGetTypeInfo(value.type_index());
    TVMFFISEqHashKind kind = StructuralKindOf(type);
    static const reflection::TypeAttrColumn hooks(type_attr::kSHash);
    AnyView hook = hooks[value.type_index()];
    Push(Frame::Kind::kFields, std::forward<Value>(value), type->type_key_hash);
    frames_.back().structural_kind = kind;
    frames_.back().fields = StructuralFieldsOf(type);
    if (hook == nullptr) return std::nullopt;
    frames_.back().hash = CallHook(hook.as_or_throw<Function>());
    return Leave();
  }

  // Calls the hash hook of the type for the value of the innermost frame.
  uint64_t CallHook(const Function& hook) {
    HookScope running(&hooks_, kStructuralLimits);
    const Frame& frame = frames_.back();
    region_ = ContentRegion(region_, frame.structural_kind);
    Any hash = hook(ObjectOf(frame.value), static_cast<int64_t>(frame.hash), for_hook_.Get());
    return static_cast<uint64_t>(hash.cast<int64_t>());
  }

  int64_t HashForHook(AnyView child, int64_t hash, int region) {
    Scope scope(this);
    region_ = NestedRegion(region_, static_cast<TVMFFIDefRegionKind>(region));
    return static_cast<int64_t>(Combine(static_cast<uint64_t>(hash), Hash(Any(child))));
  }

  std::optional<uint64_t> StepField(Frame* frame) {
    while (const TVMFFIFieldInfo* field = frame->fields.Next()) {
      Any value = ReadField(ObjectOf(frame->value), field);
      if (!IsLeaf(value.type_index())) {
        region_ = NestedRegion(region_, RegionOfField(field));
        return Enter(std::move(value));
      }
      frame->hash = Combine(frame->hash, HashOfLeaf(value));
    }
    return Leave();
  }

  // ---- Stack of frames ------------------------------------------------------------------------

  template <typename Value>
  void Push(Frame::Kind kind, Value&& value, uint64_t hash) {
    kStructuralLimits.CheckDepth(frames_.size());
    if (frames_.capacity() == 0) frames_.reserve(8);
    frames_.push_back({kind, kTVMFFISEqHashKindTreeNode, region_, FieldCursor(),
                       kind == Frame::Kind::kPairs ? pairs_.size() : 0, pairs_.size(),
                       num_skipped_keys_, hash, std::forward<Value>(value)});
  }
  void Pop() {
    pairs_.resize(frames_.back().pairs_begin);
    frames_.pop_back();
  }

  // Hashes the next child of the innermost frame and returns its hash, or nullopt if the child was
  // pushed as a new frame.  After the last child, ends the frame and returns the hash of its value.
  std::optional<uint64_t> Step() {
    Frame* frame = &frames_.back();
    region_ = ContentRegion(frame->region, frame->structural_kind);
    switch (frame->kind) {
      case Frame::Kind::kItems:
        return StepItem(frame);
      case Frame::Kind::kPairs:
        return StepPair(frame);
      case Frame::Kind::kFields:
        break;
    }
    return StepField(frame);
  }

  // Ends the innermost frame and returns the hash of its value.
  uint64_t Leave() {
    Frame& frame = frames_.back();
    uint64_t hash = frame.hash;
    if (frame.structural_kind == kTVMFFISEqHashKindFreeVar) {
      hash = frame.region == kTVMFFIDefRegionKindNone
                 ? static_cast<uint64_t>(reinterpret_cast<uintptr_t>(ObjectOf(frame.value)))
                 : Combine(hash, num_variables_++);
    } else if (frame.structural_kind == kTVMFFISEqHashKindDAGNode) {
      hash = Combine(hash, num_nodes_++);
    }
    bool is_object = frame.kind == Frame::Kind::kFields;
    if (is_object || IsWorthStoring(frame)) {
      const Object* object = ObjectOf(frame.value);
      table_keys_.push_back(std::move(frame.value));
      (is_object ? object_hashes_ : container_hashes_).Set(object, hash);
    }
    Pop();
    return hash;
  }

  std::vector<Frame> frames_;
  std::vector<Pair> pairs_;  // the pairs of all kPairs frames, in the order of the frames
  ListCopies lists_;
  ObjectTable<uint64_t> object_hashes_;
  ObjectTable<uint64_t> container_hashes_;  // hashes of containers; unused for map keys
  std::vector<Any> table_keys_;             // owns the objects in both tables
  size_t num_skipped_keys_ = 0;
  uint32_t num_variables_ = 0;
  uint32_t num_nodes_ = 0;
  TVMFFIDefRegionKind region_;  // definition region (role of variables) of the next value
  bool skip_tensor_content_;
  RunningHooks hooks_;
  HookArgument<&HashWalk::HashForHook> for_hook_{this, &hooks_, &kStructuralLimits};
};

}  // namespace

void RegisterStructuralHash() {
  reflection::EnsureTypeAttrColumn(type_attr::kSHash);
  reflection::GlobalDef().def("ffi.StructuralHash", [](const Any& value, bool map_free_vars,
                                                       bool skip_tensor_content) {
    return static_cast<int64_t>(StructuralHash::Hash(value, map_free_vars, skip_tensor_content));
  });
}

}  // namespace tvm::ffi::extra

namespace tvm::ffi {

uint64_t StructuralHash::Hash(const Any& value, bool map_free_vars, bool skip_tensor_content) {
  return extra::HashWalk(map_free_vars, skip_tensor_content).Hash(value);
}

}  // namespace tvm::ffi
