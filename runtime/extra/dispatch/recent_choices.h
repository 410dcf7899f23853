// SPDX-License-Identifier: Apache-2.0
// Recent choices: a small cache of choices by the values on which they depend, read without a lock.
//
// Each entry is a seqlock: a writer makes the version odd, writes the entry, and makes the version
// even.  A reader that sees two different versions, or an odd one, ignores the entry.  The words
// are stored with release and loaded with acquire order, so that no access passes the version.
#ifndef TVM_FFI_RUNTIME_EXTRA_DISPATCH_RECENT_CHOICES_H_
#define TVM_FFI_RUNTIME_EXTRA_DISPATCH_RECENT_CHOICES_H_

#include <tvm/ffi/base_detail.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tvm::ffi::extra::dispatch {

template <typename Choice>
class RecentChoices {
 public:
  static constexpr size_t kNumWords = 4;
  // The values that determine a choice; unused words are 0.
  struct Key {
    uint64_t words[kNumWords] = {};

    // The terms of the sum are independent, so that the processor multiplies in parallel.
    uint64_t Hash() const {
      return words[0] * 0x9e3779b97f4a7c15u + words[1] * 0xbf58476d1ce4e5b9u +
             words[2] * 0x94d049bb133111ebu + words[3] * 0xff51afd7ed558ccdu;
    }
  };

  // Returns the choice for a key, or nullptr if it is unknown.
  TVM_FFI_INLINE const Choice* Find(const Key& key) const {
    const Entry& entry = EntryOf(key);
    uint64_t version = entry.version.load(std::memory_order_acquire);
    // Without a loop, which compilers keep because of the atomic loads, the key stays in registers.
    static_assert(kNumWords == 4, "the words are compared one by one");
    auto differences = [&](size_t i) {
      return entry.words[i].load(std::memory_order_acquire) ^ key.words[i];
    };
    uint64_t difference = version & 1;
    difference |= differences(0) | differences(1) | differences(2) | differences(3);
    const Choice* choice = entry.choice.load(std::memory_order_acquire);
    difference |= entry.version.load(std::memory_order_relaxed) ^ version;
    return difference == 0 ? choice : nullptr;
  }

  // Stores a choice, unless another thread is writing the same entry.
  void Store(const Key& key, const Choice* choice) {
    Entry& entry = EntryOf(key);
    uint64_t version = entry.version.load(std::memory_order_relaxed);
    bool is_free = (version & 1) == 0;
    if (!is_free || !entry.version.compare_exchange_strong(version, version + 1)) return;
    for (size_t i = 0; i < kNumWords; ++i) {
      entry.words[i].store(key.words[i], std::memory_order_release);
    }
    entry.choice.store(choice, std::memory_order_release);
    entry.version.store(version + 2, std::memory_order_release);
  }

 private:
  struct alignas(64) Entry {
    std::atomic<uint64_t> version{0};
    std::atomic<uint64_t> words[kNumWords] = {};
    std::atomic<const Choice*> choice{nullptr};
  };
  static constexpr int kLogEntries = 4;

  const Entry& EntryOf(const Key& key) const { return entries_[key.Hash() >> (64 - kLogEntries)]; }
  Entry& EntryOf(const Key& key) { return entries_[key.Hash() >> (64 - kLogEntries)]; }

  Entry entries_[1 << kLogEntries];
};

}  // namespace tvm::ffi::extra::dispatch

#endif  // TVM_FFI_RUNTIME_EXTRA_DISPATCH_RECENT_CHOICES_H_
