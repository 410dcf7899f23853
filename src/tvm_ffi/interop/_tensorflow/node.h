/* SPDX-License-Identifier: Apache-2.0
 *
 * Attributes of a TensorFlow graph node that calls a TVM FFI function.
 *
 * Graphs may come from untrusted files, so Read() validates every index in the attributes. */
#ifndef TVM_FFI_INTEROP_TENSORFLOW_NODE_H_
#define TVM_FFI_INTEROP_TENSORFLOW_NODE_H_

#include <tensorflow/core/framework/op_kernel.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/function.h>

#include <algorithm>
#include <string>
#include <vector>

// Sources of arguments.  The node stores 4 * index + source per argument.  ORDER tensorflow-source
enum Source { kInput, kOutput, kScalar, kValue };

constexpr int kNewBuffer = -1;  // element of `Node::updated` for an output that updates no input

struct Node {
  std::string name;                // global name of the called function
  std::vector<int64_t> arguments;  // 4 * index + source for each argument, in order
  // For each output, the index of the input that the output updates, or kNewBuffer if none.
  std::vector<int64_t> updated;
  int64_t num_buffers = 0;                // the first `num_buffers` outputs are arguments
  int num_inputs = 0;                     // the first `num_inputs` inputs are arguments
  tvm::ffi::Array<tvm::ffi::Any> values;  // the arguments that are constants of the graph

  // Reads and validates the attributes.  Throws ffi::Error if the JSON in `values` is corrupt.
  absl::Status Read(tensorflow::OpKernelConstruction* context) {
    tensorflow::DataTypeVector inputs;
    std::string text;
    TF_RETURN_IF_ERROR(context->GetAttr("function", &name));
    TF_RETURN_IF_ERROR(context->GetAttr("arguments", &arguments));
    TF_RETURN_IF_ERROR(context->GetAttr("updated", &updated));
    TF_RETURN_IF_ERROR(context->GetAttr("num_buffers", &num_buffers));
    TF_RETURN_IF_ERROR(context->GetAttr("Tin", &inputs));
    TF_RETURN_IF_ERROR(context->GetAttr("values", &text));
    num_inputs = static_cast<int>(inputs.size());
    values = tvm::ffi::Function::GetGlobalRequired("ffi.FromJSONGraphString")(text)
                 .cast<tvm::ffi::Array<tvm::ffi::Any>>();
    return Check(context->num_inputs() - num_inputs, context->num_outputs());
  }

 private:
  absl::Status Check(int num_shapes, int num_outputs) const {
    for (int64_t code : arguments) {
      const int64_t index = code / 4;
      const int64_t limits[] = {num_inputs, num_buffers, num_inputs,
                                static_cast<int64_t>(values.size())};
      if (code < 0 || index >= limits[code % 4]) {
        return absl::InvalidArgumentError(
            absl::StrCat("corrupt node: argument code ", code, " is out of range"));
      }
    }
    if (num_buffers > num_outputs || updated.size() != static_cast<size_t>(num_outputs)) {
      return absl::InvalidArgumentError(
          "corrupt node: the attributes updated and num_buffers contradict the number of outputs");
    }
    if (std::count(updated.begin(), updated.end(), kNewBuffer) != num_shapes) {
      return absl::InvalidArgumentError(
          "corrupt node: expected one shape for each output that is not an inout parameter");
    }
    for (int64_t input : updated) {
      if (input < kNewBuffer || input >= num_inputs) {
        return absl::InvalidArgumentError(
            absl::StrCat("corrupt node: updated input ", input, " is out of range"));
      }
    }
    return absl::OkStatus();
  }
};

#endif  // TVM_FFI_INTEROP_TENSORFLOW_NODE_H_
