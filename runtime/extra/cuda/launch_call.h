// SPDX-License-Identifier: Apache-2.0
// LaunchCall: the interpreter of launch programs.  An instance runs one call: it checks the
// arguments and computes the launch grid.
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_LAUNCH_CALL_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_LAUNCH_CALL_H_

#include <tvm/ffi/base_detail.h>
#include <tvm/ffi/c_api.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "cuda/arguments.h"
#include "cuda/launch_program.h"

namespace tvm::ffi::extra::cuda {

class LaunchCall {
 public:
  // Checks the arguments, which are borrowed for the lifetime of this object.
  //
  // Fails: with the error that the launch program contains for the failed check.  The placeholders
  // in the message of the error are replaced by the values of the call.
  LaunchCall(const LaunchProgram& program, const TVMFFIAny* args, int32_t num_args)
      : program_(program), scratch_(program.num_words) {
    state_.args = args;
    state_.num_args = std::max(num_args, 0);
    state_.registers = scratch_.at<int64_t>(0);
    state_.tensors = scratch_.at<const DLTensor*>(program.initial.size());
    size_t slots = program.num_words - 2 * program.max_kernel_arguments;
    slots_ = scratch_.at<Slot>(slots);
    addresses_ = scratch_.at<void*>(slots + program.max_kernel_arguments);
    size_t given = static_cast<size_t>(state_.num_args);
    if (given < program.missing_failures.size() || given > program.num_arguments) FailCount(given);
    Reset();
    const QuickChecks& quick = program.quick;
    if (TVM_FFI_PREDICT_FALSE(!quick.Pass(state_))) {
      RunFromStart();
    } else if (!quick.is_complete) {
      Run(quick.end);
    }
  }
  LaunchCall(const LaunchCall&) = delete;
  LaunchCall& operator=(const LaunchCall&) = delete;

  // Runs the instructions from the code address `start` to the next kEnd.
  void Run(size_t start);

  int64_t value(uint32_t index) const { return state_.registers[index]; }
  void* address_of_value(uint32_t index) const { return &state_.registers[index]; }
  const DLTensor* tensor(uint32_t index) const { return state_.tensors[index]; }
  void set_tensor(uint32_t index, const DLTensor* tensor) { state_.tensors[index] = tensor; }

  // Storage for the kernel arguments and their addresses.
  Slot* slots() const { return slots_; }
  void** addresses() const { return addresses_; }

  // Values for the placeholders of an error message.  Each message uses only some of the values.
  struct MessageValues {
    std::string got, expected, axis, device, gpu, architecture;
  };
  [[noreturn]] TVM_FFI_COLD_CODE void Fail(uint32_t failure, const MessageValues& values) const;

 private:
  // Uninitialised 64-bit words for the registers and tensors of a call.  They are inline for most
  // launch programs, and on the heap for large launch programs.
  class Scratch {
   public:
    explicit Scratch(size_t num_words) {
      if (TVM_FFI_PREDICT_FALSE(num_words > kInline)) heap_.reset(new Slot[num_words]);
    }
    template <typename T>
    T* at(size_t word) {
      static_assert(sizeof(T) == sizeof(Slot), "a word");
      return reinterpret_cast<T*>((heap_ ? heap_.get() : inline_) + word);
    }

   private:
    static constexpr size_t kInline = 96;
    std::unique_ptr<Slot[]> heap_;
    Slot inline_[kInline];
  };

  // Clears registers and tensors in blocks of constant size, because such copies compile to fewer
  // instructions than a memcpy of unknown size.
  void Reset() {
    constexpr size_t kBlock = LaunchProgram::kBlock;
    const int64_t* initial = program_.initial.data();
    for (size_t i = 0, end = program_.initial.size(); i < end; i += kBlock) {
      std::memcpy(state_.registers + i, initial + i, sizeof(int64_t[kBlock]));
    }
    for (size_t i = 0, end = program_.NumTensors(); i < end; i += kBlock) {
      std::fill_n(state_.tensors + i, kBlock, nullptr);
    }
  }
  // Runs the launch program from its first instruction after a quick check failed.  The launch
  // program either raises the error, or accepts a rare valid argument that the quick check rejects.
  TVM_FFI_COLD_CODE void RunFromStart() {
    Reset();
    Run(0);
  }
  [[noreturn]] TVM_FFI_COLD_CODE void FailMissing(int64_t index) const;
  [[noreturn]] TVM_FFI_COLD_CODE void FailCount(size_t given) const;
  // Returns an argument.  Throws InternalError if the launch program reads an argument that was not
  // passed.
  const TVMFFIAny& ArgumentAt(int64_t index) const {
    if (TVM_FFI_PREDICT_FALSE(index >= state_.num_args)) FailMissing(index);
    return state_.args[index];
  }
  const DLTensor* ReadTensor(const int64_t* operands) const;
  int64_t ReadNumber(const int64_t* operands, int32_t accepted) const;
  int64_t ReadUnsigned(const int64_t* operands) const;
  int64_t ReadFloat(const int64_t* operands) const;
  int64_t ReadPointer(const int64_t* operands) const;
  void CheckDtypeVariable(const DLTensor& tensor, const int64_t* operands);
  void CheckAlignment(const DLTensor& tensor, const int64_t* operands) const;
  void CheckAddress(const DLTensor& tensor, const int64_t* operands) const;
  void Bind(int64_t got, const int64_t* operands, int64_t axis);
  int32_t AxisOf(const DLTensor& tensor, int64_t axis) const;
  [[noreturn]] TVM_FFI_COLD_CODE void FailDevice(int64_t failure, DLDevice got) const;
  [[noreturn]] TVM_FFI_COLD_CODE void FailType(int64_t type_failure, int64_t bigint_failure,
                                               const TVMFFIAny& arg) const;
  [[noreturn]] TVM_FFI_COLD_CODE void FailDtype(int64_t failure, DLDataType got,
                                                const std::string& expected) const;
  [[noreturn]] TVM_FFI_COLD_CODE void FailStrides(int64_t failure, const DLTensor& tensor) const;
  [[noreturn]] TVM_FFI_COLD_CODE void FailNumber(int64_t failure, int64_t got, int64_t expected = 0,
                                                 int64_t axis = 0) const;

  const LaunchProgram& program_;
  CallState state_;
  Slot* slots_;
  void** addresses_;
  Scratch scratch_;
};

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_LAUNCH_CALL_H_
