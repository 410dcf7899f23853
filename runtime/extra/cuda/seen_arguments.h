// SPDX-License-Identifier: Apache-2.0
// Seen arguments: the arguments of the last launch of a prepared call, for comparison with the
// arguments of the next one.
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_SEEN_ARGUMENTS_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_SEEN_ARGUMENTS_H_

#include <tvm/ffi/c_api.h>

#include <cstdint>
#include <vector>

namespace tvm::ffi::extra::cuda {

class SeenArguments {
 public:
  enum class Difference {
    kNone,
    kAddresses,  // only addresses of tensors
    kOther,
  };

  // Compares values, and of tensors the fields, the extents and the strides; after Clear, the
  // result is kOther.
  Difference From(const TVMFFIAny* args, int32_t num_args) const;
  void Store(const TVMFFIAny* args, int32_t num_args);
  void Clear() { num_args_ = -1; }

 private:
  struct Argument {
    bool is_tensor;
    bool has_strides;
    int32_t ndim;
    // Of a tensor: the device, then the number of dimensions and the dtype.  Of a value: the value.
    uint64_t words[2];
    uint64_t data, byte_offset;  // of a tensor
  };

  std::vector<Argument> arguments_;
  std::vector<int64_t> extents_;  // per tensor: extents, then strides if it has any
  int32_t num_args_ = -1;         // -1: the next arguments differ
};

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_SEEN_ARGUMENTS_H_
