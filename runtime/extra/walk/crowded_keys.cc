// SPDX-License-Identifier: Apache-2.0
#include "walk/crowded_keys.h"

#include <algorithm>

namespace tvm::ffi::extra {

// Tables grow by doubling, and the slot in a smaller one is the leading bits of that in a larger:
// keys that are spread in the final one were never much closer before.
KeyCrowds::KeyCrowds(size_t num_keys) : shift_(63) {
  while ((size_t{1} << (64 - shift_)) < num_keys) --shift_;
  counts_.resize(size_t{1} << (64 - shift_));
}

bool KeyCrowds::HasCrowd() const {
  auto is_crowd = [](uint32_t count) { return count > kMaxKeysPerSlot; };
  return std::any_of(counts_.begin(), counts_.end(), is_crowd);
}

bool KeyCrowds::TakeDistinct(const Any& key) {
  distinct_.resize(counts_.size());
  std::vector<Any>& known = distinct_[SlotOf(key)];
  auto is_key = [&](const Any& other) { return AnyEqual()(other, key); };
  if (std::none_of(known.begin(), known.end(), is_key)) known.push_back(key);
  return known.size() <= kMaxKeysPerSlot;
}

}  // namespace tvm::ffi::extra
