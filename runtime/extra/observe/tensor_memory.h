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
#include <vector>

namespace tvm::ffi::extra {

// Extents, strides and address of a tensor; the memory itself is borrowed.  Elements are numbered
// in row-major order of their indices, also if the strides are different.
class TensorMemory {
 public:
  // The tensor is checkable if its elements are whole bytes in host memory, and few enough, and if
  // it has at most 8 dimensions.
  TensorMemory(const DLTensor& tensor, size_t max_bytes);

  bool is_checkable() const { return is_checkable_; }
  size_t num_elements() const { return num_elements_; }
  // True if an element of this tensor and an element of the other one may share a byte.
  bool Overlaps(const TensorMemory& other) const {
    return first_ < other.last_ && other.first_ < last_;
  }

  // Returns a copy of the elements, in their order.
  std::vector<char> Copy() const;
  // Writes a pattern that depends on the number of the element.
  void Fill() const;

  // These functions return the number of an element, or -1 if there is none.
  int64_t FindDifference(const std::vector<char>& copy) const;
  int64_t FindNotFinite() const;
  // Finds an element that Fill wrote.  For elements whose pattern a function may well write, it
  // finds only runs of at least 8 bytes.  Stores the number of all such elements.
  int64_t FindFilled(size_t* count) const;
  // Writes the elements of the copy over those that Fill wrote.
  void RestoreFilled(const std::vector<char>& copy) const;

  // Returns the indices of an element, such as "[2, 0]".
  std::string IndexText(int64_t element) const;
  // Returns an element of this tensor, or of a copy of it, for messages.
  std::string ElementText(int64_t element) const { return Text(Address(element)); }
  std::string ElementText(const std::vector<char>& copy, int64_t element) const {
    return Text(copy.data() + static_cast<size_t>(element) * element_bytes_);
  }

 private:
  static constexpr size_t kMaxDimensions = 8;

  // Calls visit(address, first element, number of elements) for each run of adjacent elements.
  template <typename Visit>
  void ForEachRun(Visit&& visit) const;
  // Calls visit(address, element) for each element that Fill wrote.
  template <typename Visit>
  void ForEachFilled(Visit&& visit) const;
  char* Address(int64_t element) const;
  std::string Text(const char* address) const;

  char* data_;
  DLDataType dtype_;
  size_t ndim_ = 0;
  std::array<int64_t, kMaxDimensions> shape_;
  std::array<int64_t, kMaxDimensions> strides_;  // in elements
  size_t element_bytes_;
  size_t num_elements_ = 0;
  uintptr_t first_ = 0;  // all elements are in [first_, last_)
  uintptr_t last_ = 0;
  bool is_checkable_ = false;
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_OBSERVE_TENSOR_MEMORY_H_
