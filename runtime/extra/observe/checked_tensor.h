// SPDX-License-Identifier: Apache-2.0
// CheckedTensor: a tensor argument whose elements are compared before and after a call.
#ifndef TVM_FFI_RUNTIME_EXTRA_OBSERVE_CHECKED_TENSOR_H_
#define TVM_FFI_RUNTIME_EXTRA_OBSERVE_CHECKED_TENSOR_H_

#include <cstdint>
#include <optional>
#include <string>

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
  // Copies the elements that no page guards, and returns the end of the copy.
  char* Copy(char* copy);
  bool is_filled() const { return copy_ != nullptr && direction == 'o'; }

  // A write to a tensor that is read.
  struct Change {
    std::string text;   // such as "element [2] changed from 1 to 9"
    std::string stack;  // of the writer; empty if it is unknown
  };
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

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_OBSERVE_CHECKED_TENSOR_H_
