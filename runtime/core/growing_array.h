// SPDX-License-Identifier: Apache-2.0
// GrowingArray: an array that one writer extends while other threads read it without a lock.
#ifndef TVM_FFI_RUNTIME_CORE_GROWING_ARRAY_H_
#define TVM_FFI_RUNTIME_CORE_GROWING_ARRAY_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

namespace tvm::ffi::runtime {

// An array that threads may read while another thread appends.  When the capacity is exhausted, the
// elements are copied to a larger block.  The old block is never freed, because a reader may still
// use it.  Instances are never destroyed.
template <typename T>
class GrowingArray {
  static_assert(std::is_trivially_copyable_v<T>, "elements are copied while threads read them");

 public:
  T* data() const { return data_; }
  size_t size() const { return size_; }

  void Append(const T& element) {
    Reserve(size_ + 1);
    data_[size_++] = element;
  }
  // Appends copies of `filler` until the array has `size` elements.  Never shrinks the array.
  void ExtendTo(size_t size, const T& filler) {
    Reserve(size);
    for (; size_ < size; ++size_) data_[size_] = filler;
  }

 private:
  void Reserve(size_t capacity) {
    if (capacity <= capacity_) return;
    capacity = std::max({capacity, capacity_ * 2, size_t{4}});
    blocks_.push_back(std::make_unique<T[]>(capacity));
    std::copy(data_, data_ + size_, blocks_.back().get());
    data_ = blocks_.back().get();
    capacity_ = capacity;
  }

  std::vector<std::unique_ptr<T[]>> blocks_;  // all allocated blocks; data_ is the last one
  T* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_GROWING_ARRAY_H_
