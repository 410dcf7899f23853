// SPDX-License-Identifier: Apache-2.0
// Tensor arguments whose elements are compared: by copies, or by guarded pages if they are large.
#include "observe/checked_tensor.h"

#include <algorithm>
#include <cstring>

#include "observe/guarded_memory.h"

namespace tvm::ffi::extra {
namespace {

// From this size on, the protection of pages costs less than a copy and a comparison: two system
// calls, which also interrupt the other threads of the process, and 0.15 us per page.
constexpr size_t kMinGuardedBytes = size_t{1} << 18;

// old_element: null if it is unknown.
std::string TextOfChange(const TensorMemory& memory, int64_t element, const char* old_element) {
  std::string values;
  if (old_element != nullptr) {
    values = " from " + memory.Text(old_element) + " to " + memory.ElementText(element);
  }
  return "element " + memory.IndexText(element) + " changed" + values;
}

}  // namespace

size_t CheckedTensor::Prepare() {
  if (!is_comparable()) return 0;
  is_compared_ = true;
  size_t size = memory.num_bytes();
  if (direction == 'o' || size < kMinGuardedBytes) return size;
  size_t page = GuardPageSize();
  auto begin = reinterpret_cast<uintptr_t>(memory.Compact());
  if (page == 0 || begin == 0) return size;
  uintptr_t first = (begin + page - 1) / page * page;
  uintptr_t last = (begin + size) / page * page;
  guard_ = GuardPages(first, last);
  if (guard_ < 0) return size;
  num_before_ = first - begin;
  num_guarded_ = last - first;
  return size - num_guarded_;
}

char* CheckedTensor::Copy(char* copy) {
  if (!is_compared_) return copy;
  copy_ = copy;
  size_t size = memory.num_bytes() - num_guarded_;
  if (direction == 'o') return copy + size;
  if (guard_ < 0) {
    memory.CopyTo(copy);
  } else if (size > 0) {
    std::memcpy(copy, memory.Compact(), num_before_);
    std::memcpy(copy + num_before_, memory.Compact() + num_before_ + num_guarded_,
                size - num_before_);
  }
  return copy + size;
}

CheckedTensor::Change CheckedTensor::ChangeAt(int64_t element, const char* old_element) const {
  return {TextOfChange(memory, element, old_element), {}};
}

void MarkShared(SmallInput* small, size_t num_small, std::vector<CheckedTensor>* tensors) {
  for (size_t i = 0; i < tensors->size(); ++i) {
    CheckedTensor& checked = (*tensors)[i];
    for (size_t k = 0; k < i; ++k) {
      CheckedTensor& other = (*tensors)[k];
      if (checked.memory.Overlaps(other.memory)) checked.is_shared = other.is_shared = true;
    }
  }
  for (size_t i = 0; i < num_small; ++i) {
    // Two inputs that have the same elements are both compared: both are read.
    bool is_shared = false;
    for (CheckedTensor& checked : *tensors) {
      if (!small[i].Overlaps(checked.memory.first(), checked.memory.last())) continue;
      is_shared = checked.is_shared = true;
    }
    if (is_shared) small[i].size = 0;
  }
}

std::string SmallInput::ChangeText(const DLTensor& tensor) const {
  TensorMemory memory(tensor, SIZE_MAX);
  int64_t element = memory.FindDifference(copy);
  return TextOfChange(memory, element,
                      copy + static_cast<size_t>(element) * memory.element_bytes());
}

std::optional<CheckedTensor::Change> CheckedTensor::FindChange() {
  if (!is_compared_ || direction != 'i') return {};
  if (guard_ < 0) {
    if (copy_ == nullptr) return {};  // memory was short
    int64_t element = memory.FindDifference(copy_);
    if (element < 0) return {};
    return ChangeAt(element, copy_ + static_cast<size_t>(element) * memory.element_bytes());
  }
  std::optional<GuardedChange> found = ReleasePages(guard_);
  const char* begin = memory.Compact();
  size_t element_bytes = memory.element_bytes();
  if (found.has_value()) {
    size_t offset = found->address - reinterpret_cast<uintptr_t>(begin);
    offset -= offset % element_bytes;
    // The element may begin before the page, or end after it.
    size_t in_page = reinterpret_cast<uintptr_t>(begin) + offset - found->page;
    bool is_whole =
        in_page < found->old_page.size() && element_bytes <= found->old_page.size() - in_page;
    Change change = ChangeAt(static_cast<int64_t>(offset / element_bytes),
                             is_whole ? found->old_page.data() + in_page : nullptr);
    change.stack = std::move(found->stack);
    return change;
  }
  size_t size = copy_ == nullptr ? 0 : memory.num_bytes() - num_guarded_;
  for (size_t i = 0; i < size; ++i) {
    size_t offset = i < num_before_ ? i : i + num_guarded_;
    if (copy_[i] == begin[offset]) continue;
    // A part of the element may be in a guarded page.
    size_t first = i - std::min(i, offset % element_bytes);
    size_t end = i < num_before_ ? num_before_ : size;
    bool is_whole = (i < num_before_ || first >= num_before_) && first + element_bytes <= end;
    return ChangeAt(static_cast<int64_t>(offset / element_bytes),
                    is_whole ? copy_ + first : nullptr);
  }
  return {};
}

}  // namespace tvm::ffi::extra
