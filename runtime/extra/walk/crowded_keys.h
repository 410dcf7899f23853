// SPDX-License-Identifier: Apache-2.0
// Tables that outsiders fill.  Hashes are contract and know no secret, so whoever chooses the keys
// chooses which of them collide, and a table takes as many steps for a key as others begin at its
// slot.  Readers of foreign keys refuse more of them than ever come together by chance.
// docs/design/hash-flooding.md
#ifndef TVM_FFI_RUNTIME_EXTRA_WALK_CROWDED_KEYS_H_
#define TVM_FFI_RUNTIME_EXTRA_WALK_CROWDED_KEYS_H_

#include <tvm/ffi/any.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tvm::ffi::extra {

inline constexpr size_t kMaxKeysPerSlot = 512;
inline constexpr char kCrowdedMessage[] = "More than 512 keys have colliding hashes";

// Counts keys by the slot that they begin at in a table of the size that they need.
class KeyCrowds {
 public:
  explicit KeyCrowds(size_t num_keys);

  void Count(const Any& key) { ++counts_[SlotOf(key)]; }
  bool IsCrowded(const Any& key) const { return counts_[SlotOf(key)] > kMaxKeysPerSlot; }
  bool HasCrowd() const;

  // The same key may come often.  False: too many of a slot were different.
  bool TakeDistinct(const Any& key);

 private:
  size_t SlotOf(const Any& key) const {
    return static_cast<size_t>((uint64_t{11400714819323198485U} * AnyHash()(key)) >> shift_);
  }

  int shift_;
  std::vector<uint32_t> counts_;
  std::vector<std::vector<Any>> distinct_;  // by slot
};

// Whether key_at(0) ... key_at(num_keys - 1) have more than kMaxKeysPerSlot different ones that
// begin at one slot.
template <typename KeyAt>
bool AreKeysCrowded(size_t num_keys, KeyAt key_at) {
  if (num_keys <= kMaxKeysPerSlot) return false;
  KeyCrowds crowds(num_keys);
  for (size_t i = 0; i < num_keys; ++i) crowds.Count(key_at(i));
  if (!crowds.HasCrowd()) return false;
  for (size_t i = 0; i < num_keys; ++i) {
    const Any& key = key_at(i);
    if (crowds.IsCrowded(key) && !crowds.TakeDistinct(key)) return true;
  }
  return false;
}

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_WALK_CROWDED_KEYS_H_
