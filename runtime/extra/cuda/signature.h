// SPDX-License-Identifier: Apache-2.0
// Kernel signatures: the parameters and launch fields of a CUDA kernel, parsed from strings.
//
//   parameters      "x: float32*", "n: int32"; the name is optional
//   launch          "gridDim", "blockDim.x", "dynamicSharedMemory": launch fields that callers
//                   pass, one argument each, after the arguments of the kernel
//   fixed           launch fields with fixed values
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

// A kernel in the form that saved modules contain: its signature as strings.
struct SavedKernel {
  std::string name;    // of the function in the module
  std::string symbol;  // of the kernel in the device image
  std::vector<std::string> parameters;
  std::vector<std::string> launch;
  std::vector<std::pair<std::string, uint64_t>> fixed;
};

enum class ParameterKind : uint8_t { kPointer, kSigned, kUnsigned, kBool, kFloat32, kFloat64 };

struct Parameter {
  std::string name;  // "" for a parameter without a name
  std::string type;
  ParameterKind kind;
  uint8_t bits = 0;                 // width of an integer parameter
  bool is_compact = false;          // "float32[]": the tensor must be compact
  std::optional<DLDataType> dtype;  // element type of a pointer; nullopt for "void*"
};

// A launch argument: one launch field, or the three fields of a group such as gridDim.
struct LaunchParameter {
  std::string name;
  uint8_t first;  // LaunchField
  uint8_t count;  // 1 or 3
};

struct Signature {
  SavedKernel kernel;
  std::vector<Parameter> parameters;
  std::vector<LaunchParameter> launch;
  LaunchValues fixed;  // the fixed fields; for all others the default: extent 1, no shared memory
  bool has_cluster = false;

  size_t NumArguments() const { return parameters.size() + launch.size(); }
  // Returns text such as "scale(x, n, gridDim)", for error messages.
  std::string Call() const;
  // Returns text such as "scale(x: float32*, n: int32, gridDim)", the docstring of the function.
  std::string Documentation() const;
  // Returns the metadata of the function: the types of its arguments as JSON.
  std::string Metadata() const;
};

// Parses the strings of a kernel.  Fails: ValueError that names the kernel and the invalid
// parameter or launch field.
Signature ReadSignature(SavedKernel kernel);

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_SIGNATURE_H_
