// SPDX-License-Identifier: Apache-2.0
// ObjectTable and ObjectSet: hash tables with object addresses as keys, for the state of a walk.
//
// Keys are borrowed: the walk must keep the objects alive, so that no other object gets the address
// of a key.  Open addressing with linear probing; at least half of the slots are empty.
#ifndef TVM_FFI_RUNTIME_EXTRA_WALK_OBJECT_TABLE_H_
#define TVM_FFI_RUNTIME_EXTRA_WALK_OBJECT_TABLE_H_

#include <tvm/ffi/object.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tvm::ffi::extra {

template <typename Value>
class ObjectTable {
 public:
  // Returns the value of the object, borrowed until the table changes; nullptr if the object is not
  // in the table.
  const Value* Find(const Object* key) const {
    if (size_ == 0) return nullptr;
    const Slot& slot = slots_[SlotOf(key)];
    return slot.key != nullptr ? &slot.value : nullptr;
  }

  // Inserts or replaces the value of the object.
  void Set(const Object* key, Value value) {
    if (2 * (size_ + 1) > slots_.size()) Grow();
    Slot& slot = slots_[SlotOf(key)];
    if (slot.key == nullptr) ++size_;
    slot = {key, std::move(value)};
  }

  void Erase(const Object* key) {
    if (size_ == 0) return;
    size_t hole = SlotOf(key);
    if (slots_[hole].key == nullptr) return;
    --size_;
    // Move following keys into the empty slot, except keys whose home slot is after the empty slot.
    for (size_t i = Next(hole); slots_[i].key != nullptr; i = Next(i)) {
      size_t from_home = (i - HomeOf(slots_[i].key)) & Mask();
      if (from_home < ((i - hole) & Mask())) continue;
      slots_[hole] = std::move(slots_[i]);
      hole = i;
    }
    slots_[hole] = Slot();
  }

 private:
  struct Slot {
    const Object* key = nullptr;
    Value value{};
  };

  size_t Mask() const { return slots_.size() - 1; }
  size_t Next(size_t slot) const { return (slot + 1) & Mask(); }
  size_t HomeOf(const Object* key) const {
    constexpr uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;
    uint64_t hash = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(key)) * kGoldenRatio;
    return static_cast<size_t>(hash >> 32) & Mask();
  }
  // Returns the slot of the object, or the empty slot where it would be inserted.
  size_t SlotOf(const Object* key) const {
    size_t slot = HomeOf(key);
    while (slots_[slot].key != nullptr && slots_[slot].key != key) slot = Next(slot);
    return slot;
  }
  void Grow() {
    std::vector<Slot> old(slots_.empty() ? 8 : 2 * slots_.size());
    old.swap(slots_);
    for (Slot& slot : old) {
      if (slot.key != nullptr) slots_[SlotOf(slot.key)] = std::move(slot);
    }
  }

  std::vector<Slot> slots_;  // the number of slots is 0 or a power of two
  size_t size_ = 0;
};

class ObjectSet {
 public:
  bool Contains(const Object* object) const { return table_.Find(object) != nullptr; }
  // Adds the object to the set; returns false if the object was already in the set.
  bool Insert(const Object* object) {
    if (Contains(object)) return false;
    table_.Set(object, Nothing());
    return true;
  }
  void Erase(const Object* object) { table_.Erase(object); }

 private:
  struct Nothing {};
  ObjectTable<Nothing> table_;
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_WALK_OBJECT_TABLE_H_
