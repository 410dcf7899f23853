/* SPDX-License-Identifier: Apache-2.0
 *
 * What a node of a graph says of its call: the attributes of the operators, read and checked.
 * Graphs come from files, too: nothing in them may lead outside of what is there. */
#ifndef TVM_FFI_INTEROP_TENSORFLOW_NODE_H_
#define TVM_FFI_INTEROP_TENSORFLOW_NODE_H_

#include <tensorflow/core/framework/op_kernel.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/function.h>

#include <algorithm>
#include <string>
#include <vector>

// Where an argument comes from; a code is 4 * index + source.  ORDER tensorflow-source
enum Source { kInput, kOutput, kScalar, kValue };

constexpr int kNewBuffer = -1;  // of an output that takes the place of no input

struct Node {
  std::string name;                       // of the function
  std::vector<int64_t> arguments;         // codes
  std::vector<int64_t> updated;           // for each output: an input, or kNewBuffer
  int64_t num_buffers = 0;                // outputs that the function writes: the first ones
  int num_inputs = 0;                     // the inputs behind are shapes of outputs
  tvm::ffi::Array<tvm::ffi::Any> values;  // arguments that are part of the graph

  // Throws ffi::Error where the text of the values is damaged.
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
        return absl::InvalidArgumentError(absl::StrCat("arguments: ", code, " means nothing"));
      }
    }
    if (num_buffers > num_outputs || updated.size() != static_cast<size_t>(num_outputs)) {
      return absl::InvalidArgumentError("updated, num_buffers: not as many as there are outputs");
    }
    if (std::count(updated.begin(), updated.end(), kNewBuffer) != num_shapes) {
      return absl::InvalidArgumentError("shapes: not one for each output that needs it");
    }
    for (int64_t input : updated) {
      if (input < kNewBuffer || input >= num_inputs) {
        return absl::InvalidArgumentError(absl::StrCat("updated: there is no input ", input));
      }
    }
    return absl::OkStatus();
  }
};

#endif  // TVM_FFI_INTEROP_TENSORFLOW_NODE_H_
