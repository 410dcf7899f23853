// SPDX-License-Identifier: Apache-2.0
// Limit on colliding hash keys in untrusted input, against denial of service by hash flooding.
//
// The hash of map keys is part of the ABI contract and has no seed, so an attacker can choose keys
// that collide.  A lookup takes one comparison per key with the same home slot.  Readers of
// untrusted keys therefore reject more collisions than ever occur by chance.
// docs/design/hash-flooding.md
#ifndef TVM_FFI_RUNTIME_EXTRA_WALK_COLLISION_LIMIT_H_
#define TVM_FFI_RUNTIME_EXTRA_WALK_COLLISION_LIMIT_H_

#include <tvm/ffi/any.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tvm::ffi::extra {

inline constexpr size_t kMaxKeysPerSlot = 512;
inline constexpr char kTooManyCollisions[] = "more than 512 keys of the map have colliding hashes";

// Counts keys by their home slot in a hash table with room for all of the keys.
class SlotCounts {
 public:
  explicit SlotCounts(size_t num_keys);

  void Count(const Any& key) { ++counts_[SlotOf(key)]; }
  bool IsOverLimit(const Any& key) const { return counts_[SlotOf(key)] > kMaxKeysPerSlot; }
  bool HasSlotOverLimit() const;

  // Adds the key to the distinct keys of its slot.  Counts duplicates of a key once.  Returns false
  // if the slot then has more than kMaxKeysPerSlot distinct keys.
  bool AddDistinct(const Any& key);

 private:
  size_t SlotOf(const Any& key) const {
    return static_cast<size_t>((uint64_t{11400714819323198485U} * AnyHash()(key)) >> shift_);
  }

  int shift_;
  std::vector<uint32_t> counts_;
  std::vector<std::vector<Any>> distinct_;  // the distinct keys of each slot
};

// Returns true if more than kMaxKeysPerSlot distinct keys among key_at(0) ... key_at(num_keys - 1)
// have the same home slot.
template <typename KeyAt>
bool HaveTooManyCollisions(size_t num_keys, KeyAt key_at) {
  if (num_keys <= kMaxKeysPerSlot) return false;
  SlotCounts slots(num_keys);
  for (size_t i = 0; i < num_keys; ++i) slots.Count(key_at(i));
  if (!slots.HasSlotOverLimit()) return false;
  for (size_t i = 0; i < num_keys; ++i) {
    const Any& key = key_at(i);
    if (slots.IsOverLimit(key) && !slots.AddDistinct(key)) return true;
  }
  return false;
}

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_WALK_COLLISION_LIMIT_H_
