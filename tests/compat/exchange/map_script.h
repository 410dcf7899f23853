// SPDX-License-Identifier: Apache-2.0
// Scripted changes of maps, in phases, with a model that predicts order and content after each.
//
// The model implements the order rules without a hash table: entries are in insertion order;
// assigning to an existing key moves its entry to the end, unless the map is small.  A map of four
// entries stops being small at the next assignment, whatever its key.
#ifndef TVM_FFI_TESTS_COMPAT_EXCHANGE_MAP_SCRIPT_H_
#define TVM_FFI_TESTS_COMPAT_EXCHANGE_MAP_SCRIPT_H_

#include <cstdint>
#include <list>
#include <unordered_map>
#include <utility>
#include <vector>

#include "random.h"

namespace exchange {

struct MapChange {
  bool is_set;  // else the key is erased; it exists
  int64_t key;
  int64_t value;
};

class MapScript {
 public:
  using Entries = std::list<std::pair<int64_t, int64_t>>;

  explicit MapScript(int64_t size) : size_(size) {}
  // Runs all phases up to this one and returns the changes that the last phase made.
  std::vector<MapChange> RunThrough(int64_t phase) {
    for (int64_t i = 0; i <= phase; ++i) Run(i);
    return changes_;
  }
  const Entries& entries() const { return entries_; }
  // The scripts never use keys from this number on.
  int64_t key_bound() const { return 4 * size_ + 8; }

 private:
  int64_t SizeAfter(int64_t phase) const {
    const int64_t sizes[] = {size_, size_ + size_ / 2 + 3, size_ / 2, 2 * size_ + 1};
    return sizes[phase];
  }
  void Run(int64_t phase) {
    changes_.clear();
    Random random(static_cast<uint64_t>(phase + 1));
    int64_t target = SizeAfter(phase);
    int64_t universe = 2 * target + 2;
    // A small map must stay small until its last phase makes it grow.
    for (int64_t i = 0; i < 2 * target && target > 4; ++i) {
      int64_t key = random.Below(universe);
      if (random.Below(10) < 7) {
        Set(key, random.Below(1000));
      } else {
        Erase(key);
      }
    }
    while (static_cast<int64_t>(entries_.size()) < target) {
      Set(random.Below(universe), random.Below(1000));
    }
    while (static_cast<int64_t>(entries_.size()) > target) Erase(entries_.front().first);
  }
  void Set(int64_t key, int64_t value) {
    if (entries_.size() == 4) is_small_ = false;
    auto found = places_.find(key);
    if (found == places_.end()) {
      places_[key] = entries_.insert(entries_.end(), {key, value});
    } else {
      found->second->second = value;
      if (!is_small_) entries_.splice(entries_.end(), entries_, found->second);
    }
    changes_.push_back({true, key, value});
  }
  void Erase(int64_t key) {
    auto found = places_.find(key);
    if (found == places_.end()) return;
    entries_.erase(found->second);
    places_.erase(found);
    changes_.push_back({false, key, 0});
  }

  int64_t size_;
  Entries entries_;
  std::unordered_map<int64_t, Entries::iterator> places_;
  std::vector<MapChange> changes_;
  bool is_small_ = true;
};

}  // namespace exchange

#endif  // TVM_FFI_TESTS_COMPAT_EXCHANGE_MAP_SCRIPT_H_
