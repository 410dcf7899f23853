// SPDX-License-Identifier: Apache-2.0
// TensorMemory: the elements of a tensor in host memory, for checks before and after a call.
#ifndef TVM_FFI_RUNTIME_EXTRA_OBSERVE_TENSOR_MEMORY_H_
#define TVM_FFI_RUNTIME_EXTRA_OBSERVE_TENSOR_MEMORY_H_

#include <dlpack/dlpack.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace tvm::ffi::extra {

// Extents, strides and address of a tensor; the memory itself is borrowed.  Elements are numbered
// in row-major order of their indices, also if the strides are different.
class TensorMemory {
 public:
  // The tensor is checkable if its elements are whole bytes in host memory, and few enough, and if
  // it has at most 8 dimensions.
  TensorMemory(const DLTensor& tensor, size_t max_bytes);

  bool is_checkable() const { return is_checkable_; }
  // All elements are at the addresses [first(), last()).
  uintptr_t first() const { return first_; }
  uintptr_t last() const { return last_; }
  size_t num_elements() const { return num_elements_; }
  // True if an element of this tensor and an element of the other one may share a byte.
  bool Overlaps(const TensorMemory& other) const {
    return first_ < other.last_ && other.first_ < last_;
  }

  size_t element_bytes() const { return element_bytes_; }
  size_t num_bytes() const { return num_elements_ * element_bytes_; }
  // The address of the first element if the elements are adjacent in their order, else null.
  char* Compact() const { return num_adjacent_ == num_elements_ ? data_ : nullptr; }

  // Leaves one of `count` parts of the elements; elements are numbered from the first one of the
  // part.  Elements that are not adjacent are one part, with index 0.  Returns false if no element
  // is left.
  bool Restrict(size_t index, size_t count);

  // Copies the elements, in their order, to memory of num_bytes() bytes.
  void CopyTo(char* copy) const;
  // Copies the elements, and writes a pattern that depends on the number of the element.
  void CopyAndFill(char* copy) const;

  // These functions return the number of an element, or -1 if there is none.
  int64_t FindDifference(const char* copy) const;
  int64_t FindNotFinite() const;
  // Replaces the elements that CopyAndFill wrote by the elements of the copy; stores the number.
  // Elements whose pattern a function may well write are replaced only in runs of at least 8 bytes.
  int64_t ReplaceFilled(const char* copy, size_t* count) const;

  // Returns the indices of an element, such as "[2, 0]".
  std::string IndexText(int64_t element) const;
  // Returns an element of this tensor, or of a copy of it, for messages.
  std::string ElementText(int64_t element) const { return Text(Address(element)); }
  // Returns the text of an element whose bytes are at `address`.
  std::string Text(const char* address) const;

 private:
  static constexpr size_t kMaxDimensions = 8;

  // Calls visit(address, first element, number of elements) for each run of adjacent elements.
  template <typename Visit>
  void ForEachRun(Visit&& visit) const;
  // Calls visit(first element, number of elements) for each run of elements that CopyAndFill
  // wrote.
  template <typename Visit>
  void ForEachFilledRun(Visit&& visit) const;
  char* Address(int64_t element) const;

  char* data_;
  DLDataType dtype_;
  size_t ndim_ = 0;
  std::array<int64_t, kMaxDimensions> shape_;
  std::array<int64_t, kMaxDimensions> strides_;  // in elements
  size_t element_bytes_;
  size_t num_before_ = 0;  // number of elements before a part
  size_t num_elements_ = 0;
  size_t num_outer_ = 0;     // number of the first dimensions, whose elements are not adjacent
  size_t num_adjacent_ = 1;  // number of elements that the other dimensions have
  uintptr_t first_ = 0;      // all elements are in [first_, last_)
  uintptr_t last_ = 0;
  bool is_checkable_ = false;
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_OBSERVE_TENSOR_MEMORY_H_
