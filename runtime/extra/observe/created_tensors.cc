// SPDX-License-Identifier: Apache-2.0
// Search for pointers to tensors in the memory of the process.
#include "observe/created_tensors.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "../platform/platform.h"
#include "observe/kept_arguments.h"

namespace tvm::ffi::extra {
namespace {

struct TensorMemoryLayout {
  TVMFFIObject header;
  DLTensor tensor;
};
constexpr size_t kObjectBytes = sizeof(TensorMemoryLayout);
constexpr size_t kMaxMemory = size_t{4} << 30;
// Calls that have ended left addresses in the stack, below the frames that are in use and in the
// unused bytes of the last frames.
constexpr size_t kStaleAbove = size_t{8} << 10;
constexpr size_t kStaleBelow = size_t{1} << 20;

struct Candidate {
  uintptr_t inverted;  // address of the object
  uintptr_t inverted_data;
  std::string_view function;
  bool is_alive;
  bool is_found;  // a pointer exists
};

struct Search {
  std::vector<Candidate> candidates;  // in the order of `inverted`
  uintptr_t stack;                    // an address in the last frame

  static void Visit(uintptr_t address, const uintptr_t* words, size_t count, void* data) {
    auto* search = static_cast<Search*>(data);
    search->FindAlive(address, words, count * sizeof(uintptr_t));
    for (size_t i = 0; i < count; ++i) search->Check(address + i * sizeof(uintptr_t), words[i]);
  }

  // Returns the first candidate whose inverted address is at least `inverted`.
  std::vector<Candidate>::iterator From(uintptr_t inverted) {
    return std::lower_bound(
        candidates.begin(), candidates.end(), inverted,
        [](const Candidate& candidate, uintptr_t value) { return candidate.inverted < value; });
  }

  // Examines the objects in a copy of memory: the memory of an object may have been freed.
  void FindAlive(uintptr_t address, const uintptr_t* words, size_t size) {
    if (size < kObjectBytes) return;
    for (auto it = From(~(address + size - kObjectBytes)); it != candidates.end(); ++it) {
      uintptr_t object = ~it->inverted;
      if (object < address) return;
      TensorMemoryLayout copy;
      std::memcpy(&copy, reinterpret_cast<const char*>(words) + (object - address), sizeof(copy));
      it->is_alive = copy.header.type_index == kTVMFFITensor && StrongCount(&copy.header) > 0 &&
                     !IsReleased(&copy.header) &&
                     reinterpret_cast<uintptr_t>(copy.tensor.data) == ~it->inverted_data;
    }
  }

  void Check(uintptr_t place, uintptr_t word) {
    if (~word > candidates.back().inverted) return;
    // The last object that begins at or before the word.
    Candidate& candidate = *From(~word);
    uintptr_t offset = candidate.inverted - ~word;
    bool is_in_object = place - ~candidate.inverted < kObjectBytes;
    bool is_stale = place - (stack - kStaleBelow) < kStaleBelow + kStaleAbove;
    if (offset < kObjectBytes && !is_in_object && !is_stale) candidate.is_found = true;
  }
};

}  // namespace

void CreatedTensors::Add(std::string_view function, const TVMFFIObject* tensor) {
  const void* data = TVMFFITensorGetDLTensorPtr(const_cast<TVMFFIObject*>(tensor))->data;
  std::lock_guard<ForkMutex> lock(mutex_);
  if (tensors_.size() == kMaxTensors) return;
  tensors_.insert_or_assign(~reinterpret_cast<uintptr_t>(tensor),
                            Created{function, ~reinterpret_cast<uintptr_t>(data)});
}

std::vector<CreatedTensors::Leak> CreatedTensors::Leaks() const {
  Search search;
  search.stack = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  {
    std::lock_guard<ForkMutex> lock(mutex_);
    for (const auto& [inverted, created] : tensors_) {
      search.candidates.push_back(
          {inverted, created.inverted_data, created.function, false, false});
    }
  }
  if (search.candidates.size() < 2) return {};
  std::sort(search.candidates.begin(), search.candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.inverted < b.inverted; });
  if (!platform::VisitWritableMemory(kMaxMemory, &Search::Visit, &search)) return {};
  std::map<std::string_view, size_t> counts;
  for (const Candidate& candidate : search.candidates) {
    if (candidate.is_alive && !candidate.is_found) ++counts[candidate.function];
  }
  std::vector<Leak> leaks;
  std::lock_guard<ForkMutex> lock(mutex_);
  for (const auto& [function, count] : counts) {
    auto stack = stacks_.find(function);
    if (count < 2) continue;
    leaks.push_back({function, count, stack == stacks_.end() ? String() : stack->second});
  }
  return leaks;
}

}  // namespace tvm::ffi::extra
