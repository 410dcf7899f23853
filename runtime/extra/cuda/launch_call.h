// SPDX-License-Identifier: Apache-2.0
// One call of a launch plan: the arguments, checked by the plan's program, and what it calculates.
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
  // Makes the checks.  The arguments stay the caller's.
  //
  // Fails: what the plan says, with its holes filled.
  LaunchCall(const LaunchProgram& program, const TVMFFIAny* args, int32_t num_args)
      : program_(program), room_(program.num_words) {
    state_.args = args;
    state_.num_args = std::max(num_args, 0);
    state_.registers = room_.at<int64_t>(0);
    state_.tensors = room_.at<const DLTensor*>(program.initial.size());
    size_t slots = program.num_words - 2 * program.most_arguments;
    slots_ = room_.at<Slot>(slots);
    addresses_ = room_.at<void*>(slots + program.most_arguments);
    size_t given = static_cast<size_t>(state_.num_args);
    if (given < program.missing.size() || given > program.num_arguments) FailCount(given);
    Reset();
    const QuickChecks& quick = program.quick;
    if (TVM_FFI_PREDICT_FALSE(!quick.Pass(state_))) {
      RunSlowly();
    } else if (!quick.is_all) {
      Run(quick.end);
    }
  }
  LaunchCall(const LaunchCall&) = delete;
  LaunchCall& operator=(const LaunchCall&) = delete;

  // Runs the instructions from `start` to the next end.
  void Run(size_t start);

  int64_t value(uint32_t place) const { return state_.registers[place]; }
  void* address_of_value(uint32_t place) const { return &state_.registers[place]; }
  const DLTensor* tensor(uint32_t place) const { return state_.tensors[place]; }
  void set_tensor(uint32_t place, const DLTensor* tensor) { state_.tensors[place] = tensor; }

  // Room for the arguments of a launch.
  Slot* slots() const { return slots_; }
  void** addresses() const { return addresses_; }

  // Values for the holes of a failure; those that it has no hole for do not count.
  struct Holes {
    std::string got, expected, axis, device, gpu, architecture;
  };
  [[noreturn]] TVM_FFI_COLD_CODE void Fail(uint32_t failure, const Holes& holes) const;

 private:
  // So many words of memory.
  class Room {
   public:
    explicit Room(size_t num_words) {
      if (TVM_FFI_PREDICT_FALSE(num_words > kInline)) more_.reset(new Slot[num_words]);
    }
    template <typename T>
    T* at(size_t word) {
      static_assert(sizeof(T) == sizeof(Slot), "a word");
      return reinterpret_cast<T*>((more_ ? more_.get() : inline_) + word);
    }

   private:
    static constexpr size_t kInline = 96;
    std::unique_ptr<Slot[]> more_;
    Slot inline_[kInline];
  };

  // In blocks of a known size, which cost less than calls that find out how much there is.
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
  TVM_FFI_COLD_CODE void RunSlowly() {
    Reset();
    Run(0);
  }
  [[noreturn]] TVM_FFI_COLD_CODE void FailMissing(int64_t place) const;
  [[noreturn]] TVM_FFI_COLD_CODE void FailCount(size_t given) const;
  // Programs of ours do not read what was not given.
  const TVMFFIAny& ArgumentAt(int64_t place) const {
    if (TVM_FFI_PREDICT_FALSE(place >= state_.num_args)) FailMissing(place);
    return state_.args[place];
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
  [[noreturn]] TVM_FFI_COLD_CODE void FailType(int64_t type, int64_t big,
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
  Room room_;
};

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_LAUNCH_CALL_H_
