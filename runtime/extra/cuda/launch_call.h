// SPDX-License-Identifier: Apache-2.0
// One call of a launch plan: the arguments, checked by the plan's program, and what it calculates.
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_LAUNCH_CALL_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_LAUNCH_CALL_H_

#include <tvm/ffi/c_api.h>

#include <string>
#include <vector>

#include "cuda/launch_program.h"

namespace tvm::ffi::extra::cuda {

class LaunchCall {
 public:
  // Makes the checks.  The arguments stay the caller's.
  //
  // Fails: what the plan says, with its holes filled.
  LaunchCall(const LaunchProgram& program, const TVMFFIAny* args, int32_t num_args);
  LaunchCall(const LaunchCall&) = delete;
  LaunchCall& operator=(const LaunchCall&) = delete;

  // Runs the instructions from `start` to the next end.
  void Run(size_t start);

  int64_t value(uint32_t place) const { return values_[place]; }
  const DLTensor* tensor(uint32_t place) const { return tensors_[place]; }
  void set_tensor(uint32_t place, const DLTensor* tensor) { tensors_[place] = tensor; }

  // Values for the holes of a failure; those that it has no hole for do not count.
  struct Holes {
    std::string got, expected, axis, device, gpu, architecture;
  };
  [[noreturn]] void Fail(uint32_t failure, const Holes& holes) const;

 private:
  static constexpr size_t kInlineValues = 48, kInlineTensors = 16;

  void CheckCount();
  void MakeRoom();
  const TVMFFIAny& ArgumentAt(int64_t place) const;
  const DLTensor* ReadTensor(const int64_t* operands) const;
  int64_t ReadNumber(const int64_t* operands, int32_t accepted) const;
  int64_t ReadUnsigned(const int64_t* operands) const;
  int64_t ReadFloat(const int64_t* operands) const;
  int64_t ReadPointer(const int64_t* operands) const;
  void CheckDtypeVariable(const DLTensor& tensor, const int64_t* operands);
  void CheckAddress(const DLTensor& tensor, const int64_t* operands) const;
  void Bind(int64_t got, const int64_t* operands, int64_t axis);
  void Divide(const int64_t* operands, bool is_up);
  int32_t AxisOf(const DLTensor& tensor, int64_t axis) const;
  [[noreturn]] void FailType(int64_t type, int64_t big, const TVMFFIAny& arg) const;
  [[noreturn]] void FailDtype(int64_t failure, DLDataType got, const std::string& expected) const;
  [[noreturn]] void FailStrides(int64_t failure, const DLTensor& tensor) const;
  [[noreturn]] void FailNumber(int64_t failure, int64_t got, int64_t expected = 0,
                               int64_t axis = 0) const;

  const LaunchProgram& program_;
  const TVMFFIAny* args_;
  int32_t num_args_;
  int64_t* values_;
  const DLTensor** tensors_;
  int64_t inline_values_[kInlineValues];
  const DLTensor* inline_tensors_[kInlineTensors];
  std::vector<int64_t> more_values_;
  std::vector<const DLTensor*> more_tensors_;
};

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_LAUNCH_CALL_H_
