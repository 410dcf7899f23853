/* SPDX-License-Identifier: Apache-2.0
 *
 * XLA kernels of the operators in op.cc, for graphs that TensorFlow compiles (jit_compile=True).
 *
 * A node becomes the XLA custom call that the JAX adapter uses, too (runtime/xla).  XlaCallOp
 * converts the node's attributes to those of the custom call. */
#include <tensorflow/compiler/tf2xla/shape_util.h>
#include <tensorflow/compiler/tf2xla/xla_op_kernel.h>
#include <tensorflow/compiler/tf2xla/xla_op_registry.h>
#include <tvm/ffi/function.h>
#include <xla/ffi/api/c_api.h>
#include <xla/hlo/builder/xla_builder.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "node.h"

namespace xla::ffi {
// TensorFlow's wheel lacks the headers of MLIR, which the header of this function includes.
const XLA_FFI_Api* GetXlaFfiApi();
}  // namespace xla::ffi

namespace {

namespace ffi = tvm::ffi;
namespace tf = tensorflow;

// Sources of arguments.  The custom call stores 16 * index + source for each argument, as in
// runtime/xla/call_arguments.c.
enum CustomCallSource { kOperand = 0, kResult = 1, kAttribute = 2, kNone = 3, kJSONGraph = 4 };
// XLA sorts attributes by name: __arguments and __function precede the attributes of values.
constexpr int64_t kNumReservedAttributes = 2;

// ---- MLIR text of the attribute dictionary ------------------------------------------------------

std::string Quoted(const std::string& text) {
  static const char digits[] = "0123456789ABCDEF";
  std::string quoted = "\"";
  for (unsigned char c : text) {
    if (c >= ' ' && c < 127 && c != '"' && c != '\\') {
      quoted += static_cast<char>(c);
    } else {
      quoted += {'\\', digits[c >> 4], digits[c & 15]};
    }
  }
  return quoted + "\"";
}

std::string BitsOf(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return absl::StrCat("0x", absl::Hex(bits, absl::kZeroPad16), " : f64");
}

// Returns the MLIR text of an argument value; sets `source` to the source in its argument code.
std::string TextOf(const ffi::Any& value, CustomCallSource* source) {
  *source = kAttribute;
  if (value.type_index() == ffi::TypeIndex::kTVMFFIBool) {
    return value.cast<bool>() ? "true" : "false";
  }
  if (value.type_index() == ffi::TypeIndex::kTVMFFIInt) {
    return absl::StrCat(value.cast<int64_t>(), " : i64");
  }
  if (value.type_index() == ffi::TypeIndex::kTVMFFIFloat) return BitsOf(value.cast<double>());
  if (std::optional<ffi::String> text = value.as<ffi::String>()) return Quoted(std::string(*text));
  *source = kJSONGraph;
  static const ffi::Function write = ffi::Function::GetGlobalRequired("ffi.ToJSONGraphString");
  return Quoted(std::string(write(value, nullptr).cast<ffi::String>()));
}

// ---- the operator ------------------------------------------------------------------------------

class XlaCallOp : public tf::XlaOpKernel {
 public:
  explicit XlaCallOp(tf::OpKernelConstruction* context) : tf::XlaOpKernel(context) {
    try {
      OP_REQUIRES_OK(context, node_.Read(context));
    } catch (const ffi::Error& error) {
      context->CtxFailure(absl::InvalidArgumentError(error.message()));
    }
  }

  void Compile(tf::XlaOpKernelContext* context) override {
    std::vector<xla::XlaOp> operands;
    std::vector<xla::Shape> shapes;
    std::string attributes;
    for (int i = 0; i < node_.num_inputs; ++i) operands.push_back(context->Input(i));
    OP_REQUIRES_OK(context, ShapesOf(context, &shapes));
    try {
      OP_REQUIRES_OK(context, WriteAttributes(&attributes));
    } catch (const ffi::Error& error) {
      context->CtxFailure(
          absl::InvalidArgumentError(absl::StrCat(node_.name, ": ", error.message())));
      return;
    }
    const bool is_tuple = shapes.size() != 1;
    const xla::XlaOp call = xla::CustomCall(
        context->builder(), "call_tvm_ffi", operands,
        is_tuple ? xla::ShapeUtil::MakeTupleShape(shapes) : shapes[0], attributes,
        type_string() == "TvmFfiCall", Aliases(is_tuple), nullptr,
        xla::CustomCallSchedule::SCHEDULE_NONE, xla::CustomCallApiVersion::API_VERSION_TYPED_FFI);
    for (size_t i = 0; i < shapes.size(); ++i) {
      context->SetOutput(static_cast<int>(i),
                         is_tuple ? xla::GetTupleElement(call, static_cast<int64_t>(i)) : call);
    }
  }

 private:
  // Returns the shapes of the outputs, whose extents are all constant when XLA compiles a graph.
  absl::Status ShapesOf(tf::XlaOpKernelContext* context, std::vector<xla::Shape>* shapes) const {
    int next_shape = node_.num_inputs;
    for (int i = 0; i < context->num_outputs(); ++i) {
      xla::Shape shape;
      if (node_.updated[i] == kNewBuffer) {
        tf::TensorShape extents;
        TF_RETURN_IF_ERROR(context->ConstantInputAsShape(next_shape++, &extents));
        TF_RETURN_IF_ERROR(
            tf::TensorShapeToXLAShape(context->expected_output_dtype(i), extents, &shape));
      } else {
        TF_ASSIGN_OR_RETURN(shape, context->InputXlaShape(static_cast<int>(node_.updated[i])));
      }
      shapes->push_back(shape);
    }
    return absl::OkStatus();
  }

  absl::Status WriteAttributes(std::string* out) const {
    std::vector<int64_t> codes;
    std::vector<std::string> texts;
    for (size_t i = 0; i < node_.arguments.size(); ++i) {
      const int64_t index = node_.arguments[i] / 4;
      CustomCallSource source = node_.arguments[i] % 4 == kInput ? kOperand : kResult;
      int64_t target_index = index;
      if (node_.arguments[i] % 4 == kScalar) {
        return absl::UnimplementedError(
            absl::StrCat(node_.name, ": argument ", i,
                         ": expected a constant in a graph compiled with XLA, got a number that "
                         "the graph computes; pass a Python number"));
      }
      if (node_.arguments[i] % 4 == kValue && node_.values[index] == nullptr) {
        source = kNone;
      } else if (node_.arguments[i] % 4 == kValue) {
        target_index = kNumReservedAttributes + static_cast<int64_t>(texts.size());
        texts.push_back(TextOf(node_.values[index], &source));
      }
      codes.push_back(16 * target_index + source);
    }
    const int64_t hash = static_cast<int64_t>(std::hash<std::string>()(node_.name) & 0x7FFFFFFF);
    *out = absl::StrCat("{__arguments = array<i32: ", kNumReservedAttributes + texts.size(), ", ",
                        hash);
    for (int64_t code : codes) absl::StrAppend(out, ", ", code);
    absl::StrAppend(out, ">, __function = ", Quoted(node_.name));
    for (size_t i = 0; i < texts.size(); ++i) {
      absl::StrAppend(out, ", v", absl::Dec(i, absl::kZeroPad4), " = ", texts[i]);
    }
    absl::StrAppend(out, "}");
    return absl::OkStatus();
  }

  // Returns the pairs of an output and an input that share memory, one for each inout parameter.
  std::vector<std::pair<xla::ShapeIndex, std::pair<int64_t, xla::ShapeIndex>>> Aliases(
      bool is_tuple) const {
    std::vector<std::pair<xla::ShapeIndex, std::pair<int64_t, xla::ShapeIndex>>> aliases;
    for (size_t i = 0; i < node_.updated.size(); ++i) {
      if (node_.updated[i] == kNewBuffer) continue;
      const xla::ShapeIndex output =
          is_tuple ? xla::ShapeIndex({static_cast<int64_t>(i)}) : xla::ShapeIndex();
      aliases.push_back({output, {node_.updated[i], {}}});
    }
    return aliases;
  }

  Node node_;
};

REGISTER_XLA_OP(Name("TvmFfiCall").CompileTimeConstantInput("shapes"), XlaCallOp);
REGISTER_XLA_OP(Name("TvmFfiPureCall").CompileTimeConstantInput("shapes"), XlaCallOp);

}  // namespace

// Registers the custom call with TensorFlow's XLA; `handler` is the CPU handler of libtvm_ffi_xla.
extern "C" __attribute__((visibility("default"))) const void* TVMFFITensorFlowRegisterHandler(
    void* handler) {
  static const char name[] = "call_tvm_ffi", platform[] = "Host";
  XLA_FFI_Handler_Register_Args args;
  std::memset(&args, 0, sizeof(args));
  args.struct_size = sizeof(args);
  args.name = {name, sizeof(name) - 1};
  args.platform = {platform, sizeof(platform) - 1};
  args.bundle.execute = reinterpret_cast<XLA_FFI_Handler*>(handler);
  return xla::ffi::GetXlaFfiApi()->XLA_FFI_Handler_Register(&args);
}
