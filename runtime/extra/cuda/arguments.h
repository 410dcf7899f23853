// SPDX-License-Identifier: Apache-2.0
// Argument conversion for CUDA kernels: checks the arguments of a call and stores them for a
// launch.
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_ARGUMENTS_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_ARGUMENTS_H_

#include <tvm/ffi/c_api.h>

#include <vector>

#include "cuda/signature.h"

namespace tvm::ffi::extra::cuda {

// Storage for one kernel argument.  An integer is stored with 64 bits.  A kernel with a narrower
// parameter reads the first bytes, which are the low bytes, because every machine with CUDA is
// little-endian.
union Slot {
  int64_t integer;
  float float32;
  double float64;
  void* pointer;
};

class Arguments {
 public:
  // Converts the arguments of one call for a kernel with this signature.  Fails: TypeError and
  // ValueError that name the function, the argument and the value.
  Arguments(const Signature& signature, const TVMFFIAny* args, int32_t num_args);
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  // The id of the CUDA device of the tensor arguments; -1 if no argument is a tensor on a CUDA
  // device.
  int device_id() const { return device_id_; }
  const LaunchValues& launch() const { return launch_; }
  // The addresses of the converted arguments, in the form that cuLaunchKernel takes.
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
  [[noreturn]] void FailType(size_t i, const std::string& expected, const TVMFFIAny& arg) const;
  [[noreturn]] void Fail(size_t i, const char* kind, const std::string& reason) const;

  const Signature& signature_;
  LaunchValues launch_;
  int device_id_ = -1;
  size_t device_argument_ = 0;  // index of the call argument that determined device_id_
  Slot* slots_;
  void** addresses_;
  Slot inline_slots_[kInline];
  void* inline_addresses_[kInline];
  // Replaces inline_slots_ for kernels with more than kInline parameters.
  std::vector<Slot> heap_slots_;
  std::vector<void*> heap_addresses_;
};

// Returns the name of a device, such as "cuda:1" or "cpu:0".
std::string DeviceText(DLDevice device);

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_ARGUMENTS_H_
