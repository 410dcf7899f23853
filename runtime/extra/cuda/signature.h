// SPDX-License-Identifier: Apache-2.0
// What a kernel takes, in words and as the table from which a call is checked and converted.
//
// A description is text wherever it comes from, a program or saved bytes, and is read in one place.
//
//   parameters      "x: float32*", "n: int32"; the name may be left out
//   launch          "gridDim", "blockDim.x", "dynamicSharedMemory": one argument each, behind those
//                   of the kernel
//   fixed           the same words with their values, which callers do not pass
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_SIGNATURE_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_SIGNATURE_H_

#include <tvm/ffi/c_api.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tvm::ffi::extra::cuda {

// ORDER launch-fields
enum LaunchField : uint8_t { kGrid = 0, kBlock = 3, kCluster = 6, kSharedMemory = 9 };
constexpr size_t kNumLaunchFields = 10;
using LaunchValues = std::array<uint32_t, kNumLaunchFields>;

struct KernelText {
  std::string name;    // of the function
  std::string symbol;  // of the kernel in the image
  std::vector<std::string> parameters;
  std::vector<std::string> launch;
  std::vector<std::pair<std::string, uint64_t>> fixed;
};

enum class ParameterKind : uint8_t { kPointer, kSigned, kUnsigned, kBool, kFloat32, kFloat64 };

struct Parameter {
  std::string name;  // may be empty
  std::string type;
  ParameterKind kind;
  uint8_t bits = 0;                 // of an integer
  bool is_compact = false;          // "float32[]": tensors with gaps are refused
  std::optional<DLDataType> dtype;  // of a pointer; none for "void*"
};

// One argument of the launch: a field, or the three fields of a group.
struct LaunchParameter {
  std::string name;
  uint8_t first;
  uint8_t count;
};

struct Signature {
  KernelText text;
  std::vector<Parameter> parameters;
  std::vector<LaunchParameter> launch;
  LaunchValues fixed;  // and the defaults: extents 1, no shared memory
  bool has_cluster = false;

  size_t NumArguments() const { return parameters.size() + launch.size(); }
  // "scale(x, n, gridDim)", as messages have it.
  std::string Call() const;
  // "scale(x: float32*, n: int32, gridDim)", as the documentation of the function has it.
  std::string Documentation() const;
  // The types of the arguments as JSON, which is the metadata of the function.
  std::string Metadata() const;
};

// Fails: ValueError that names the kernel and the word that is wrong.
Signature ReadSignature(KernelText text);

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_SIGNATURE_H_
