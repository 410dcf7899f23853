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

// A kernel as a saved module stores it: the signature of the kernel as strings.
struct SavedKernel {
  std::string name;    // name of the function in the module
  std::string symbol;  // name of the kernel in the device image
  std::vector<std::string> parameters;
  std::vector<std::string> launch;
  std::vector<std::pair<std::string, uint64_t>> fixed;
};

enum class ParameterKind : uint8_t { kPointer, kSigned, kUnsigned, kBool, kFloat32, kFloat64 };

struct Parameter {
  std::string name;  // name of the parameter; "" if it has none
  std::string type;
  ParameterKind kind;
  uint8_t bits = 0;                 // number of bits of an integer parameter
  bool is_compact = false;          // true if the tensor must be compact ("float32[]")
  std::optional<DLDataType> dtype;  // element type of a pointer; nullopt for the type "void*"
};

// A call argument that sets one launch field, or the three launch fields of a group such as
// gridDim.
struct LaunchParameter {
  std::string name;
  uint8_t first;  // index of the first launch field, a LaunchField
  uint8_t count;  // number of launch fields: 1 or 3
};

struct Signature {
  SavedKernel kernel;
  std::vector<Parameter> parameters;
  std::vector<LaunchParameter> launch;
  // Value of each launch field that the caller does not pass: its fixed value, else the default
  // (extent 1, no shared memory).
  LaunchValues fixed;
  bool has_cluster = false;

  size_t NumArguments() const { return parameters.size() + launch.size(); }
  // Returns a call of the function as text for error messages, such as "scale(x, n, gridDim)".
  std::string Call() const;
  // Returns the docstring of the function, such as "scale(x: float32*, n: int32, gridDim)".
  std::string Documentation() const;
  // Returns the metadata of the function as JSON text: the types of its arguments.
  std::string Metadata() const;
};

// Parses the strings of a kernel.  Fails: ValueError that names the kernel and the invalid
// parameter or launch field.
Signature ReadSignature(SavedKernel kernel);

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_SIGNATURE_H_
