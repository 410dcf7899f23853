/* SPDX-License-Identifier: Apache-2.0
 *
 * A torch operator that calls a function of a library, and the direct call, which needs neither
 * Python nor the GIL. */
#ifndef TVM_FFI_RUNTIME_TORCH_OPERATOR_H_
#define TVM_FFI_RUNTIME_TORCH_OPERATOR_H_

#include <tvm/ffi/extra/c_host_call.h>

#include <string>
#include <vector>

#include "torch_api.h"

namespace tvm_ffi_torch {

enum class Kind { kTensor, kInt, kFloat, kBool };

struct Extent {
  enum Kind { kConstant, kName, kAny } kind;
  int64_t value;  // the constant, or the index of the name
};

struct TensorDtype {
  int32_t torch;
  DLDataType dlpack;
};

// A parameter of the function.
struct Parameter {
  Kind kind;
  int argument;  // index of the operator's argument; -1: the operator allocates a result
  bool is_optional;
  // Number of leading dimensions whose strides are free; the others must be row-major without gaps.
  // -k means all dimensions but the last k.
  int free_dimensions;
  bool is_result;   // the operator returns the tensor: a new one, or a copy of the argument
  int name;         // of an integer: the index of the name that it binds, or -1
  int device_type;  // of a tensor: torch's number of the device type; -1: any
  int dtype_name;   // index of the dtype variable, or -1
  std::vector<TensorDtype> dtypes;
  bool has_shape;
  std::vector<Extent> shape;
};

// An argument of the operator, for calls of Python kernels.
struct Argument {
  Kind kind;
  bool is_optional;
  bool is_written;
};

constexpr int kMaxParameters = 24;
constexpr int kMaxNames = 32;
constexpr int kMaxNdim = 16;

struct Operator {
  std::string name;  // with the namespace, for messages
  std::vector<Parameter> parameters;
  std::vector<Argument> arguments;
  TVMFFIObjectHandle function = nullptr;  // owned
  // Owned; functions that raise an error unless the packed arguments satisfy a signature.
  std::vector<TVMFFIObjectHandle> checks;
  // False if the function needs the GIL, and so the Python kernel; a field of `wrapper`.
  const int* releases_gil = nullptr;
  PyObject* wrapper = nullptr;  // owned; the Python object of the function
  DLPackManagedTensorAllocator allocator = nullptr;
  PyObject* kernel = nullptr;  // owned; called for arguments that the direct call does not accept
  // Owned; called if modes, transforms or special tensors need torch's dispatcher.
  PyObject* autograd = nullptr;
  // Owned; the `apply` of a `torch.autograd.Function` whose `forward` is a `NewForward`.  Called if
  // an argument requires a gradient; null if the operator writes tensors.
  PyObject* apply = nullptr;
};

// Tests of arguments that need torch's memory layout and the values of its dispatch keys.
struct Layout {
  size_t tensor_offset;   // of the at::Tensor in a Python tensor
  size_t key_set_offset;  // of the DispatchKeySet in a TensorImpl
  uint64_t plain_keys;    // the keys of dense tensors in CPU and CUDA memory
  std::vector<int> transform_keys;
};

extern Layout layout;

// The tensor of an argument; null for an optional argument that is None.
TensorHandle TensorOf(const Argument& argument, StackValue value);
// True for a dense tensor in CPU or CUDA memory, except views with lazy values and instances of
// subclasses.
bool IsPlain(TensorHandle tensor);

// Call the function.  Returns false, and consumes nothing, if the arguments need the Python kernel.
// Otherwise consumes the arguments and writes the results to the stack.  `code` receives the status
// of the function, and the thread's error slot its error.
bool CallDirectly(const Operator& op, StackValue* stack, int* code);

}  // namespace tvm_ffi_torch
#endif  // TVM_FFI_RUNTIME_TORCH_OPERATOR_H_
