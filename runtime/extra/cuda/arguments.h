// SPDX-License-Identifier: Apache-2.0
// The arguments of one call, checked and in the form that a launch takes them.
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_ARGUMENTS_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_ARGUMENTS_H_

#include <tvm/ffi/c_api.h>

#include <vector>

#include "cuda/signature.h"

namespace tvm::ffi::extra::cuda {

// Room for what the kernel's parameters hold.  Integers are written as 64 bits: the kernel reads
// the first bytes, which are the low ones on every machine that has CUDA.
union Slot {
  int64_t integer;
  float float32;
  double float64;
  void* pointer;
};

class Arguments {
 public:
  // Fails: TypeError and ValueError that name the function, the argument, and what came.
  Arguments(const Signature& signature, const TVMFFIAny* args, int32_t num_args);
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  // The device of the tensors; -1 when no argument is a tensor on a CUDA device.
  int device_id() const { return device_id_; }
  const LaunchValues& launch() const { return launch_; }
  // The address of each parameter's value.
  void** addresses() { return addresses_; }

 private:
  static constexpr size_t kInline = 32;

  void ReadParameter(size_t i, const TVMFFIAny& arg);
  void* ReadPointer(size_t i, const TVMFFIAny& arg);
  void* ReadTensor(size_t i, const DLTensor& tensor);
  void CheckDevice(size_t i, const DLTensor& tensor);
  int64_t ReadInteger(size_t i, const TVMFFIAny& arg);
  double ReadFloat(size_t i, const TVMFFIAny& arg);
  void ReadLaunch(size_t i, const TVMFFIAny& arg);
  void ReadGroup(size_t i, const TVMFFIAny& arg);
  void SetField(size_t i, size_t field, int64_t value);
  [[noreturn]] void Mismatch(size_t i, const std::string& expected, const TVMFFIAny& arg) const;
  [[noreturn]] void Refuse(size_t i, const char* kind, const std::string& reason) const;

  const Signature& signature_;
  LaunchValues launch_;
  int device_id_ = -1;
  size_t device_argument_ = 0;  // the one that decided
  Slot* slots_;
  void** addresses_;
  Slot inline_slots_[kInline];
  void* inline_addresses_[kInline];
  std::vector<Slot> more_slots_;
  std::vector<void*> more_addresses_;
};

// "cuda:1", "cpu:0".
std::string DeviceText(DLDevice device);

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_ARGUMENTS_H_
