/* SPDX-License-Identifier: Apache-2.0
 *
 * The TensorFlow operators TvmFfiCall and TvmFfiPureCall: graph nodes that call a function.
 *
 * call.py decides the source of each argument and writes it to the node's attributes.  The
 * function's tensors share the reference-counted buffers of TensorFlow's tensors, so the function
 * may keep them after the call.  Input tensors are marked read-only. */
#include <tensorflow/core/framework/common_shape_fns.h>
#include <tensorflow/core/framework/op.h>
#include <tensorflow/core/framework/op_kernel.h>
#include <tensorflow/core/framework/shape_inference.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_host_call.h>
#include <tvm/ffi/function.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "node.h"

namespace {

namespace ffi = tvm::ffi;
namespace tf = tensorflow;

// ---- element types ------------------------------------------------------------------------------

struct ElementType {
  tf::DataType tensorflow;
  DLDataType dlpack;
};

// Supported dtypes.  ORDER tensorflow-dtype: same order as in call.py.
constexpr ElementType kElementTypes[] = {
    {tf::DT_BOOL, {kDLBool, 8, 1}},
    {tf::DT_INT8, {kDLInt, 8, 1}},
    {tf::DT_INT16, {kDLInt, 16, 1}},
    {tf::DT_INT32, {kDLInt, 32, 1}},
    {tf::DT_INT64, {kDLInt, 64, 1}},
    {tf::DT_UINT8, {kDLUInt, 8, 1}},
    {tf::DT_UINT16, {kDLUInt, 16, 1}},
    {tf::DT_UINT32, {kDLUInt, 32, 1}},
    {tf::DT_UINT64, {kDLUInt, 64, 1}},
    {tf::DT_HALF, {kDLFloat, 16, 1}},
    {tf::DT_BFLOAT16, {kDLBfloat, 16, 1}},
    {tf::DT_FLOAT, {kDLFloat, 32, 1}},
    {tf::DT_DOUBLE, {kDLFloat, 64, 1}},
    {tf::DT_COMPLEX64, {kDLComplex, 64, 1}},
    {tf::DT_COMPLEX128, {kDLComplex, 128, 1}},
    {tf::DT_FLOAT8_E5M2, {kDLFloat8_e5m2, 8, 1}},
    {tf::DT_FLOAT8_E4M3FN, {kDLFloat8_e4m3fn, 8, 1}},
};

DLDataType ElementTypeOf(tf::DataType type) {
  for (const ElementType& known : kElementTypes) {
    if (known.tensorflow == type) return known.dlpack;
  }
  TVM_FFI_THROW(TypeError) << "TensorFlow tensors of dtype " << tf::DataTypeString(type)
                           << " have no DLPack form";
}

// ---- tensors ------------------------------------------------------------------------------------

// A DLPack tensor that shares ownership of a TensorFlow tensor's buffer.
struct SharedTensor {
  explicit SharedTensor(const tf::Tensor& tensor, bool is_read_only) : owner(tensor) {
    for (int dim = 0; dim < tensor.dims(); ++dim) shape.push_back(tensor.dim_size(dim));
    strides.resize(shape.size());
    int64_t step = 1;
    for (size_t dim = shape.size(); dim-- > 0;) {
      strides[dim] = step;
      step *= shape[dim] > 0 ? shape[dim] : 1;
    }
    managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensorVersioned* self) {
      delete static_cast<SharedTensor*>(self->manager_ctx);
    };
    managed.flags = is_read_only ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
    managed.dl_tensor.data = tensor.data();
    managed.dl_tensor.device = {kDLCPU, 0};
    managed.dl_tensor.ndim = tensor.dims();
    managed.dl_tensor.dtype = ElementTypeOf(tensor.dtype());
    managed.dl_tensor.shape = shape.data();
    managed.dl_tensor.strides = strides.data();
    managed.dl_tensor.byte_offset = 0;
  }

  tf::Tensor owner;
  std::vector<int64_t> shape, strides;
  DLManagedTensorVersioned managed;
};

ffi::Tensor Share(const tf::Tensor& tensor, bool is_read_only) {
  auto shared = std::make_unique<SharedTensor>(tensor, is_read_only);
  ffi::Tensor result = ffi::Tensor::FromDLPackVersioned(&shared->managed);
  shared.release();  // the deleter of `result` frees the struct
  return result;
}

// Copies elements with any strides into a row-major buffer; returns the end of the written part.
char* CopyElements(const DLTensor& from, int dim, const char* source, size_t size_bytes, char* to) {
  if (dim == from.ndim) {
    std::memcpy(to, source, size_bytes);
    return to + size_bytes;
  }
  const int64_t step_bytes = from.strides[dim] * static_cast<int64_t>(size_bytes);
  for (int64_t i = 0; i < from.shape[dim]; ++i, source += step_bytes) {
    to = CopyElements(from, dim + 1, source, size_bytes, to);
  }
  return to;
}

void CopyInto(const ffi::Tensor& from, tf::Tensor* to) {
  const DLTensor& source = *from.GetDLTensorPtr();
  const char* data = static_cast<const char*>(source.data) + source.byte_offset;
  char* target = static_cast<char*>(to->data());
  if (to->NumElements() == 0) return;
  if (from.IsContiguous()) {
    std::memcpy(target, data, to->TotalBytes());
  } else {
    CopyElements(source, 0, data, source.dtype.bits / 8, target);
  }
}

// Returns the element of a scalar tensor as the value for a parameter that is a number.
ffi::Any ScalarOf(const tf::Tensor& tensor) {
  if (tensor.NumElements() != 1) {
    TVM_FFI_THROW(ValueError) << "expected a scalar tensor for a parameter that is a number, got "
                              << "a tensor of shape " << tensor.shape().DebugString();
  }
  switch (tensor.dtype()) {
    case tf::DT_BOOL:
      return tensor.flat<bool>()(0);
    case tf::DT_INT32:
      return static_cast<int64_t>(tensor.flat<tf::int32>()(0));
    case tf::DT_INT64:
      return static_cast<int64_t>(tensor.flat<tf::int64>()(0));
    case tf::DT_FLOAT:
      return static_cast<double>(tensor.flat<float>()(0));
    case tf::DT_DOUBLE:
      return tensor.flat<double>()(0);
    default:
      TVM_FFI_THROW(TypeError)
          << "expected a scalar tensor of dtype bool, int32, int64, float or double, got "
          << tf::DataTypeString(tensor.dtype());
  }
}

// ---- the operator -------------------------------------------------------------------------------

class CallOp : public tf::OpKernel {
 public:
  explicit CallOp(tf::OpKernelConstruction* context) : tf::OpKernel(context) {
    Guard(context, [&] { OP_REQUIRES_OK(context, node_.Read(context)); });
  }

  void Compute(tf::OpKernelContext* context) override {
    Guard(context, [&] { Call(context); });
  }

 private:
  // Runs `body`.  An exception is caught and becomes the status of the context.
  template <typename Context, typename Body>
  void Guard(Context* context, const Body& body) {
    try {
      body();
    } catch (const ffi::Error& error) {
      const TVMFFIObjectHandle handle =
          ffi::details::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(error);
      context->CtxFailure(absl::Status(
          static_cast<absl::StatusCode>(TVMFFIHostErrorStatus(handle)),
          absl::StrCat(node_.name, ": ", std::string(error.kind()), ": ", error.message())));
    } catch (const std::exception& error) {
      context->CtxFailure(absl::InternalError(absl::StrCat(node_.name, ": ", error.what())));
    }
  }

  void Call(tf::OpKernelContext* context) {
    std::vector<ffi::Any> args(node_.arguments.size());
    std::vector<tf::PartialTensorShape> shapes(num_outputs());
    int next_shape = node_.num_inputs;
    for (int i = 0; i < num_outputs(); ++i) {
      if (node_.updated[i] == kNewBuffer) {
        OP_REQUIRES_OK(context, ShapeFrom(context->input(next_shape++), &shapes[i]));
      }
      if (i < node_.num_buffers) OP_REQUIRES_OK(context, MakeBuffer(context, i, shapes[i]));
    }
    for (size_t i = 0; i < args.size(); ++i) {
      const int index = static_cast<int>(node_.arguments[i] / 4);
      switch (node_.arguments[i] % 4) {
        case kInput:
          args[i] = Share(context->input(index), true);
          break;
        case kOutput:
          args[i] = Share(*context->mutable_output(index), false);
          break;
        case kScalar:
          args[i] = ScalarOf(context->input(index));
          break;
        default:
          args[i] = node_.values[index];
      }
    }
    std::vector<ffi::AnyView> views(args.begin(), args.end());
    ffi::Any result;
    Function()->CallPacked(views.data(), static_cast<int32_t>(views.size()), &result);
    TakeResults(context, result, shapes);
  }

  // Looks the function up in each call, because the name may be registered again at any time.
  std::optional<ffi::Function> Function() const {
    std::optional<ffi::Function> found = ffi::Function::GetGlobal(node_.name);
    if (!found) {
      TVM_FFI_THROW(KeyError) << "the global function is not registered; load its library or "
                                 "register the function before the graph runs";
    }
    return found;
  }

  static absl::Status ShapeFrom(const tf::Tensor& extents, tf::PartialTensorShape* shape) {
    if (extents.dims() == 0) return absl::OkStatus();  // a scalar means an unknown shape
    return tf::PartialTensorShape::MakePartialShape(extents.flat<tf::int64>().data(),
                                                    static_cast<int>(extents.NumElements()), shape);
  }

  absl::Status MakeBuffer(tf::OpKernelContext* context, int i,
                          const tf::PartialTensorShape& expected_shape) {
    tf::Tensor* buffer = nullptr;
    tf::TensorShape shape;
    if (node_.updated[i] == kNewBuffer) {
      if (!expected_shape.AsTensorShape(&shape)) {
        return absl::InvalidArgumentError(absl::StrCat(node_.name, ": output ", i,
                                                       ": expected known extents, got ",
                                                       expected_shape.DebugString()));
      }
      return context->allocate_output(i, shape, &buffer);
    }
    const int input = static_cast<int>(node_.updated[i]);
    int forwarded = -1;
    TF_RETURN_IF_ERROR(context->forward_input_or_allocate_output(
        {input}, i, context->input(input).shape(), &buffer, &forwarded));
    const tf::Tensor& before = context->input(input);
    if (forwarded < 0 && before.NumElements() > 0) {
      std::memcpy(buffer->data(), before.data(), before.TotalBytes());
    }
    return absl::OkStatus();
  }

  void TakeResults(tf::OpKernelContext* context, const ffi::Any& result,
                   const std::vector<tf::PartialTensorShape>& shapes) {
    const int num_results = num_outputs() - static_cast<int>(node_.num_buffers);
    if (num_results == 0) return;
    const std::vector<ffi::Tensor> tensors = TensorsOf(result, num_results);
    for (int i = 0; i < num_results; ++i) {
      const int output = static_cast<int>(node_.num_buffers) + i;
      tf::TensorShape shape;
      CheckResult(tensors[i], output, shapes[output], &shape);
      tf::Tensor* buffer = nullptr;
      OP_REQUIRES_OK(context, context->allocate_output(output, shape, &buffer));
      CopyInto(tensors[i], buffer);
    }
  }

  static std::vector<ffi::Tensor> TensorsOf(const ffi::Any& result, int expected) {
    std::vector<ffi::Tensor> tensors;
    if (result.type_index() == kTVMFFITensor) {
      tensors.push_back(result.cast<ffi::Tensor>());
    } else if (auto array = result.try_cast<ffi::Array<ffi::Any>>(); array && array->defined()) {
      for (const ffi::Any& element : *array) {
        if (element.type_index() == kTVMFFITensor) tensors.push_back(element.cast<ffi::Tensor>());
      }
      // The list contains an element that is not a tensor.
      if (tensors.size() != array->size()) tensors.clear();
    }
    if (tensors.size() != static_cast<size_t>(expected)) {
      TVM_FFI_THROW(ValueError) << "expected the function to return " << expected
                                << " tensors, got " << tensors.size() << " (" << result.GetTypeKey()
                                << ")";
    }
    return tensors;
  }

  void CheckResult(const ffi::Tensor& tensor, int output,
                   const tf::PartialTensorShape& expected_shape, tf::TensorShape* shape) const {
    const DLTensor& got = *tensor.GetDLTensorPtr();
    const DLDataType dtype = ElementTypeOf(output_type(output));
    if (got.device.device_type != kDLCPU) {
      TVM_FFI_THROW(ValueError) << "output " << output << " must be in CPU memory";
    }
    if (got.dtype != dtype) {
      TVM_FFI_THROW(TypeError) << "output " << output << " must have dtype "
                               << ffi::DLDataTypeToString(dtype) << ", got "
                               << ffi::DLDataTypeToString(got.dtype);
    }
    if (!tf::TensorShapeUtils::MakeShape(got.shape, got.ndim, shape).ok() ||
        !expected_shape.IsCompatibleWith(*shape)) {
      TVM_FFI_THROW(ValueError) << "output " << output << " must have shape "
                                << expected_shape.DebugString() << ", got " << shape->DebugString();
    }
  }

  Node node_;
};

absl::Status InferShapes(tf::shape_inference::InferenceContext* context) {
  std::vector<int64_t> updated;
  tf::DataTypeVector inputs;
  TF_RETURN_IF_ERROR(context->GetAttr("updated", &updated));
  TF_RETURN_IF_ERROR(context->GetAttr("Tin", &inputs));
  int next_shape = static_cast<int>(inputs.size());
  for (int i = 0; i < context->num_outputs(); ++i) {
    tf::shape_inference::ShapeHandle shape = context->UnknownShape();
    const int64_t input = i < static_cast<int>(updated.size()) ? updated[i] : kNewBuffer;
    if (0 <= input && input < static_cast<int64_t>(inputs.size())) {
      shape = context->input(static_cast<int>(input));
    } else if (next_shape < context->num_inputs()) {
      TF_RETURN_IF_ERROR(context->MakeShapeFromShapeTensor(next_shape++, &shape));
    }
    context->set_output(i, shape);
  }
  return absl::OkStatus();
}

#define TVM_FFI_CALL_OP(op_name)           \
  REGISTER_OP(op_name)                     \
      .Input("inputs: Tin")                \
      .Input("shapes: num_shapes * int64") \
      .Output("outputs: Tout")             \
      .Attr("Tin: list(type) >= 0")        \
      .Attr("Tout: list(type) >= 0")       \
      .Attr("num_shapes: int >= 0")        \
      .Attr("function: string")            \
      .Attr("arguments: list(int)")        \
      .Attr("updated: list(int)")          \
      .Attr("num_buffers: int >= 0")       \
      .Attr("values: string")              \
      .SetShapeFn(InferShapes)

TVM_FFI_CALL_OP("TvmFfiCall").SetIsStateful();
TVM_FFI_CALL_OP("TvmFfiPureCall");

REGISTER_KERNEL_BUILDER(Name("TvmFfiCall").Device(tf::DEVICE_CPU), CallOp);
REGISTER_KERNEL_BUILDER(Name("TvmFfiPureCall").Device(tf::DEVICE_CPU), CallOp);

}  // namespace
