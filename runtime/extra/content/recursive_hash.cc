// SPDX-License-Identifier: Apache-2.0
// Hash by content (RecursiveHash): combines the hashes of a value's children.  Hash values are part
// of the ABI contract, so the order of all steps is fixed.
#include <tvm/ffi/big_int.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <vector>

#include "content/shape_hash.h"
#include "registration.h"
#include "walk/child_reader.h"
#include "walk/hook_argument.h"
#include "walk/hook_scope.h"

namespace tvm::ffi::extra {
namespace {

using detail::StableHashCombine;

constexpr WalkLimits kLimits{"RecursiveHash: "};
constexpr int64_t kSkippedFields =
    kTVMFFIFieldFlagBitMaskHashOff | kTVMFFIFieldFlagBitMaskCompareOff;

// Returns the hash of a float.  All NaNs have the same hash, and 0.0 and -0.0 have the same hash.
uint64_t HashOfFloat(double value) {
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  if (value == 0) value = 0.0;
  return AnyHash()(Any(value));
}

// Returns the hash of a value without children.
uint64_t HashOfLeaf(const Any& value) {
  const TVMFFIAny& raw = *detail::AnyUnsafe::TVMFFIAnyPtrFromAny(value);
  auto type = static_cast<uint64_t>(raw.type_index);
  switch (raw.type_index) {
    case kTVMFFIFloat:
      return HashOfFloat(raw.v_float64);
    case kTVMFFIDataType:
      return StableHashCombine(
          StableHashCombine(StableHashCombine(type, raw.v_dtype.code), raw.v_dtype.bits),
          raw.v_dtype.lanes);
    case kTVMFFIDevice:
      return StableHashCombine(StableHashCombine(type, raw.v_device.device_type),
                               raw.v_device.device_id);
    case kTVMFFIShape:
      return HashOfShape(value);
    case kTVMFFIBigInt:
      return value.cast<BigInt>().hash();
    default:
      return AnyHash()(value);
  }
}

// A frame of the traversal stack: an object whose children are being hashed.
class OpenHash {
 public:
  explicit OpenHash(const Any& value)
      : children(value, kSkippedFields), hash_(ObjectOf(value)->GetTypeKeyHash()) {
    if (children.kind() != ChildKind::kFields) hash_ = StableHashCombine(hash_, children.size());
  }

  // Combines the hash of the child that was read last with the hash of the object.
  void Add(uint64_t hash) {
    switch (children.kind()) {
      case ChildKind::kElements:
        hash_ = StableHashCombine(hash_, StableHashCombine(hash, children.count() - 1));
        break;
      case ChildKind::kPairs:
        AddToPair(hash);
        break;
      default:
        hash_ = StableHashCombine(hash_, hash);
    }
  }

  // Returns the hash of the object.  Sorts the hashes of pairs, because the order of the pairs must
  // not change the hash.
  uint64_t Finish() {
    std::sort(pairs_.begin(), pairs_.end());
    for (uint64_t pair : pairs_) hash_ = StableHashCombine(hash_, pair);
    return hash_;
  }

  ChildReader children;

 private:
  void AddToPair(uint64_t hash) {
    bool is_key = children.count() % 2 == 1;
    if (is_key) {
      pairs_.push_back(hash);
    } else {
      pairs_.back() = StableHashCombine(pairs_.back(), hash);
    }
  }

  uint64_t hash_;
  std::vector<uint64_t> pairs_;  // hashes of the pairs; the last one may lack the value of its pair
};

// Hashes each object once.  Where an object occurs inside itself, uses the hash of its type key
// instead.
class RecursiveHasher {
 public:
  // Hooks call this function recursively; a nested call pushes its frames above the frames of the
  // outer call.
  uint64_t Hash(const Any& value) {
    Scope scope(this);
    uint64_t hash = 0;
    if (Begin(value, &hash)) return hash;
    while (true) {
      if (const Any* child = open_.back().children.Next()) {
        if (Begin(*child, &hash)) open_.back().Add(hash);
        continue;
      }
      hash = Close();
      if (open_.size() == scope.base()) return hash;
      open_.back().Add(hash);
    }
  }

 private:
  // The hash of an object, and an owned reference to the object, so that no other object gets the
  // same address.
  struct Known {
    Any owner;
    // The hash of the object; while the object is on the stack, the hash of its type key.
    uint64_t hash;
  };

  // Pops the frames that an exception left on the stack.
  class Scope {
   public:
    explicit Scope(RecursiveHasher* hasher) : hasher_(hasher), base_(hasher->open_.size()) {}
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() {
      while (hasher_->open_.size() > base_) {
        hasher_->known_.erase(hasher_->open_.back().children.object());
        hasher_->open_.pop_back();
      }
    }
    size_t base() const { return base_; }

   private:
    RecursiveHasher* hasher_;
    size_t base_;
  };

  // Stores the hash of a value and returns true, or pushes an object whose children must be hashed
  // first and returns false.
  bool Begin(const Any& value, uint64_t* hash) {
    if (ChildKindOf(value) == ChildKind::kNone) {
      *hash = HashOfLeaf(value);
      return true;
    }
    const Object* object = ObjectOf(value);
    auto known = known_.find(object);
    if (known != known_.end()) {
      *hash = known->second.hash;
      return true;
    }
    if (ChildKindOf(value) == ChildKind::kFields && HashByHook(value, hash)) return true;
    kLimits.CheckDepth(open_.size());
    open_.emplace_back(value);
    known_.emplace(object, Known{open_.back().children.value(), object->GetTypeKeyHash()});
    return false;
  }

  uint64_t Close() {
    uint64_t hash = open_.back().Finish();
    known_.at(open_.back().children.object()).hash = hash;
    open_.pop_back();
    return hash;
  }

  int64_t HashForHook(AnyView child) { return static_cast<int64_t>(Hash(Any(child))); }

  bool HashByHook(const Any& value, uint64_t* hash) {
    static const reflection::TypeAttrColumn hooks(type_attr::kHash);
    auto hook = type_attr::kHash.ValueFrom(hooks[value.type_index()]);
    if (!hook.has_value()) {
      RequireNoEquality(value.type_index());
      return false;
    }
    const Object* object = ObjectOf(value);
    HookScope running(&hooks_, kLimits);
    Known* known = &known_.emplace(object, Known{value, object->GetTypeKeyHash()}).first->second;
    try {
      known->hash = static_cast<uint64_t>((*hook)(object, hash_for_hook_.Get()));
    } catch (...) {
      known_.erase(object);
      throw;
    }
    *hash = known->hash;
    return true;
  }

  // Throws if the type has an equality hook but no hash hook: equal values could have different
  // hashes.
  static void RequireNoEquality(int32_t type_index) {
    static const reflection::TypeAttrColumn eq(type_attr::kEq);
    static const reflection::TypeAttrColumn compare(type_attr::kCompare);
    if (type_index < kTVMFFIStaticObjectEnd) return;
    if (eq[type_index] == nullptr && compare[type_index] == nullptr) return;
    TVM_FFI_THROW(ValueError) << kLimits.service << "type '" << TypeIndexToTypeKey(type_index)
                              << "' defines __ffi_eq__ or __ffi_compare__ but not __ffi_hash__. "
                                 "Add a __ffi_hash__ hook that gives equal objects equal hashes.";
  }

  std::vector<OpenHash> open_;
  std::unordered_map<const Object*, Known> known_;
  RunningHooks hooks_;
  HookArgument<&RecursiveHasher::HashForHook> hash_for_hook_{this, &hooks_, &kLimits};
};

int64_t HashBigInt(const BigInt& value, const TypedFunction<int64_t(AnyView)>&) {
  return static_cast<int64_t>(value.hash());
}

}  // namespace
}  // namespace tvm::ffi::extra

namespace tvm::ffi {

int64_t RecursiveHash(const Any& value) {
  return static_cast<int64_t>(extra::RecursiveHasher().Hash(value));
}

void extra::RegisterRecursiveHash() {
  reflection::EnsureTypeAttrColumn(type_attr::kHash);
  reflection::TypeAttrDef<detail::BigIntObj>().def(type_attr::kHash, &extra::HashBigInt);
  reflection::GlobalDef().def("ffi.RecursiveHash", &RecursiveHash);
}

}  // namespace tvm::ffi
