// SPDX-License-Identifier: Apache-2.0
// CheckedTensor: a tensor argument whose elements are compared before and after a call.
#ifndef TVM_FFI_RUNTIME_EXTRA_OBSERVE_CHECKED_TENSOR_H_
#define TVM_FFI_RUNTIME_EXTRA_OBSERVE_CHECKED_TENSOR_H_

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "observe/tensor_memory.h"

namespace tvm::ffi::extra {

class CheckedTensor {
 public:
  CheckedTensor(int32_t argument, char which, const DLTensor& tensor, size_t max_bytes)
      : index(argument), direction(which), memory(tensor, max_bytes) {}

  int32_t index;   // of the argument
  char direction;  // 'i' (read), 'o' (written), or another character: not compared
  // Another argument may have the same elements, which may change in ways that the signature
  // allows.
  bool is_shared = false;
  TensorMemory memory;

  // Guards the whole pages of a large tensor that is read, and returns the number of bytes that
  // Copy needs.
  size_t Prepare();
  // True if the signature says enough for a comparison.
  bool is_comparable() const { return !is_shared && (direction == 'i' || direction == 'o'); }
  // Copies the elements that no page guards, and returns the end of the copy.  The elements of an
  // output are copied later, by Fill.
  char* Copy(char* copy);
  bool is_filled() const { return copy_ != nullptr && direction == 'o'; }
  // Copies and fills the elements of an output.
  void Fill() const {
    if (is_filled()) memory.CopyAndFill(copy_);
  }

  // A write to a tensor that is read.
  struct Change {
    std::string text;   // such as "element [2] changed from 1 to 9"
    std::string stack;  // of the writer; empty if it is unknown
  };
  // True if FindChange would find nothing; false if that is unknown.
  bool IsUnchanged() const {
    if (!is_compared_ || direction != 'i') return true;
    return guard_ < 0 && copy_ != nullptr && memory.Compact() != nullptr &&
           std::memcmp(memory.Compact(), copy_, memory.num_bytes()) == 0;
  }
  // Ends the guard.  Returns the change that was found first, if any.
  std::optional<Change> FindChange();
  // Puts the old elements where Fill wrote, and the function did not; returns the first such
  // element, or -1, and stores their number.
  int64_t ReplaceFilled(size_t* count) const { return memory.ReplaceFilled(copy_, count); }

 private:
  Change ChangeAt(int64_t element, const char* old_element) const;

  bool is_compared_ = false;
  char* copy_ = nullptr;    // the elements, or the bytes before and after the guarded pages
  int guard_ = -1;          // see GuardPages
  size_t num_before_ = 0;   // number of bytes before the guarded pages
  size_t num_guarded_ = 0;  // number of bytes in the guarded pages
};

// A tensor that is read and has few, adjacent elements, like most tensors of most calls.  Comparing
// it takes half the time of a CheckedTensor.
struct SmallInput {
  static constexpr size_t kMaxBytes = 256;

  // Copies the elements; false if the tensor needs a CheckedTensor.
  bool Copy(int32_t argument, const DLTensor& tensor, size_t max_bytes) {
    bool is_host = tensor.device.device_type == kDLCPU || tensor.device.device_type == kDLCUDAHost;
    uint64_t bits = uint64_t{tensor.dtype.bits} * tensor.dtype.lanes;
    if (!is_host || tensor.data == nullptr || bits % 8 != 0 || bits > 512 || tensor.ndim > 8)
      return false;
    uint64_t count = 1;
    for (int32_t i = tensor.ndim; i-- > 0;) {
      auto extent = static_cast<uint64_t>(tensor.shape[i]);
      bool is_adjacent = extent == 1 || tensor.strides == nullptr ||
                         static_cast<uint64_t>(tensor.strides[i]) == count;
      if (!is_adjacent || extent > kMaxBytes) return false;
      count *= extent;
      if (count > kMaxBytes) return false;
    }
    size = count * bits / 8;
    if (size == 0 || size > kMaxBytes || size > max_bytes) return false;
    index = argument;
    data = static_cast<const char*>(tensor.data) + tensor.byte_offset;
    std::memcpy(copy, data, size);
    return true;
  }
  bool IsUnchanged() const { return std::memcmp(copy, data, size) == 0; }
  // Returns the text of the change, see CheckedTensor::Change.  `tensor`: as of Copy.
  std::string ChangeText(const DLTensor& tensor) const;
  bool Overlaps(uintptr_t first, uintptr_t last) const {
    auto begin = reinterpret_cast<uintptr_t>(data);
    return first < begin + size && begin < last;
  }

  int32_t index;  // of the argument
  size_t size;    // in bytes; 0 if another argument has the same elements
  const char* data;
  char copy[kMaxBytes];
};

// Excludes elements that several arguments of a call have: they may change, or be read, in ways
// that the signature allows.
void MarkShared(SmallInput* small, size_t num_small, std::vector<CheckedTensor>* tensors);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_OBSERVE_CHECKED_TENSOR_H_
