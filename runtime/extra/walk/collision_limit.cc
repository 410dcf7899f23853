// SPDX-License-Identifier: Apache-2.0
// Collision limit: counts of keys per slot.
#include "walk/collision_limit.h"

#include <algorithm>

namespace tvm::ffi::extra {

// Creates counters for the number of keys per slot of a hash table with the final size.  A table
// grows by doubling.  The smaller tables before the final table need no check: the slot of a key in
// a smaller table is the leading bits of its slot in the final table, so a slot of a smaller table
// has the keys of only a few slots of the final table.
SlotCounts::SlotCounts(size_t num_keys) : shift_(63) {
  while ((size_t{1} << (64 - shift_)) < num_keys) --shift_;
  counts_.resize(size_t{1} << (64 - shift_));
}

bool SlotCounts::HasSlotOverLimit() const {
  auto is_over_limit = [](uint32_t count) { return count > kMaxKeysPerSlot; };
  return std::any_of(counts_.begin(), counts_.end(), is_over_limit);
}

bool SlotCounts::AddDistinct(const Any& key) {
  distinct_.resize(counts_.size());
  std::vector<Any>& keys = distinct_[SlotOf(key)];
  auto is_key = [&](const Any& other) { return AnyEqual()(other, key); };
  if (std::none_of(keys.begin(), keys.end(), is_key)) keys.push_back(key);
  return keys.size() <= kMaxKeysPerSlot;
}

}  // namespace tvm::ffi::extra
