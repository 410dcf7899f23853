// SPDX-License-Identifier: Apache-2.0
#include "cuda/arguments.h"

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/error.h>

#include "content/repr_text.h"

namespace tvm::ffi::extra::cuda {
namespace {

// Returns the tensor that a value contains or points to; nullptr if the value is of another type or
// a null pointer.
const DLTensor* TensorOf(const TVMFFIAny& arg) {
  TVMFFIObject* object = arg.v_obj;
  switch (arg.type_index) {
    case kTVMFFIDLTensorPtr:
      return static_cast<const DLTensor*>(arg.v_ptr);
    case kTVMFFIObjectRValueRef:  // a moved argument; only borrowed here
      object = *static_cast<TVMFFIObject**>(arg.v_ptr);
      if (object == nullptr || object->type_index != kTVMFFITensor) return nullptr;
      return reinterpret_cast<const DLTensor*>(object + 1);
    case kTVMFFITensor:
      return reinterpret_cast<const DLTensor*>(object + 1);
    default:
      return nullptr;
  }
}

bool IsOnEveryDevice(DLDeviceType type) { return type == kDLCUDAHost || type == kDLCUDAManaged; }

bool Fits(int64_t value, ParameterKind kind, uint8_t bits) {
  if (kind == ParameterKind::kUnsigned) {
    return value >= 0 && (bits == 64 || static_cast<uint64_t>(value) >> bits == 0);
  }
  return bits == 64 || (value >> (bits - 1)) == 0 || (value >> (bits - 1)) == -1;
}

std::string KeyOf(const TVMFFIAny& arg) {
  AnyView view = AnyView::CopyFromTVMFFIAny(arg);
  return view.GetTypeKey();
}

}  // namespace

std::string DeviceText(DLDevice device) {
  std::string text;
  AppendDevice(device, &text);
  return text;
}

Arguments::Arguments(const Signature& signature, const TVMFFIAny* args, int32_t num_args)
    : signature_(signature), launch_(signature.fixed) {
  size_t count = signature.parameters.size();
  if (static_cast<size_t>(num_args) != signature.NumArguments()) {
    TVM_FFI_THROW(TypeError) << signature.Call() << " takes " << signature.NumArguments()
                             << " arguments, got " << num_args;
  }
  if (count > kInline) {
    heap_slots_.resize(count);
    heap_addresses_.resize(count);
  }
  slots_ = count > kInline ? heap_slots_.data() : inline_slots_;
  addresses_ = count > kInline ? heap_addresses_.data() : inline_addresses_;
  for (size_t i = 0; i < count; ++i) {
    ReadParameter(i, args[i]);
    addresses_[i] = &slots_[i];
  }
  for (size_t i = count; i < signature.NumArguments(); ++i) ReadLaunch(i, args[i]);
}

void Arguments::ReadParameter(size_t i, const TVMFFIAny& arg) {
  switch (signature_.parameters[i].kind) {
    case ParameterKind::kPointer:
      slots_[i].pointer = ReadPointer(i, arg);
      break;
    case ParameterKind::kFloat32:
      slots_[i].float32 = static_cast<float>(ReadFloat(i, arg));
      break;
    case ParameterKind::kFloat64:
      slots_[i].float64 = ReadFloat(i, arg);
      break;
    default:
      slots_[i].integer = ReadInteger(i, arg);
  }
}

void* Arguments::ReadPointer(size_t i, const TVMFFIAny& arg) {
  if (const DLTensor* tensor = TensorOf(arg)) return ReadTensor(i, *tensor);
  if (arg.type_index == kTVMFFIOpaquePtr) return arg.v_ptr;
  if (arg.type_index == kTVMFFINone) return nullptr;
  FailType(i, "a tensor, a pointer or None", arg);
}

void* Arguments::ReadTensor(size_t i, const DLTensor& tensor) {
  const Parameter& parameter = signature_.parameters[i];
  CheckDevice(i, tensor);
  if (parameter.dtype.has_value()) {
    DLDataType expected = *parameter.dtype;
    if (tensor.dtype.code != expected.code || tensor.dtype.bits != expected.bits ||
        tensor.dtype.lanes != expected.lanes) {
      Fail(i, "TypeError",
           "expected a tensor of " + std::string(DLDataTypeToString(expected)) + ", got one of " +
               std::string(DLDataTypeToString(tensor.dtype)));
    }
  }
  if (parameter.is_compact && !IsContiguous(tensor)) {
    Fail(i, "ValueError", "expected a compact tensor, got one with gaps or in another order");
  }
  return static_cast<char*>(tensor.data) + tensor.byte_offset;
}

void Arguments::CheckDevice(size_t i, const DLTensor& tensor) {
  DLDevice device = tensor.device;
  if (IsOnEveryDevice(device.device_type)) return;
  if (device.device_type != kDLCUDA) {
    Fail(i, "ValueError", "expected a tensor on a CUDA device, got one on " + DeviceText(device));
  }
  if (device_id_ == -1) {
    if (device.device_id < 0) Fail(i, "ValueError", "there is no " + DeviceText(device));
    device_id_ = device.device_id;
    device_argument_ = i;
  } else if (device.device_id != device_id_) {
    Fail(i, "ValueError",
         "expected a tensor on " + DeviceText({kDLCUDA, device_id_}) + " like argument " +
             std::to_string(device_argument_) + ", got one on " + DeviceText(device));
  }
}

int64_t Arguments::ReadInteger(size_t i, const TVMFFIAny& arg) {
  const Parameter& parameter = signature_.parameters[i];
  bool is_bool = parameter.kind == ParameterKind::kBool;
  if (arg.type_index != kTVMFFIInt && arg.type_index != kTVMFFIBool) {
    FailType(i, is_bool ? "bool" : "int", arg);
  }
  if (is_bool) return arg.v_int64 != 0;
  if (!Fits(arg.v_int64, parameter.kind, parameter.bits)) {
    Fail(i, "ValueError",
         std::to_string(arg.v_int64) + " is out of the range of " + parameter.type);
  }
  return arg.v_int64;
}

double Arguments::ReadFloat(size_t i, const TVMFFIAny& arg) {
  if (arg.type_index == kTVMFFIFloat) return arg.v_float64;
  if (arg.type_index == kTVMFFIInt || arg.type_index == kTVMFFIBool) {
    return static_cast<double>(arg.v_int64);
  }
  FailType(i, "float", arg);
}

void Arguments::ReadLaunch(size_t i, const TVMFFIAny& arg) {
  const LaunchParameter& parameter = signature_.launch[i - signature_.parameters.size()];
  if (arg.type_index == kTVMFFIInt) return SetField(i, parameter.first, arg.v_int64);
  if (parameter.count == 1) FailType(i, "int", arg);
  ReadGroup(i, arg);
}

// Reads an argument for three launch fields, such as gridDim: an int or an array (x, y, z).
// Missing extents are 1.
void Arguments::ReadGroup(size_t i, const TVMFFIAny& arg) {
  size_t first = signature_.launch[i - signature_.parameters.size()].first;
  AnyView view = AnyView::CopyFromTVMFFIAny(arg);
  std::vector<int64_t> extents;
  if (auto shape = view.as<Shape>()) {
    extents.assign(shape->begin(), shape->end());
  } else if (auto array = view.as<Array<int64_t>>()) {
    extents.assign(array->begin(), array->end());
  } else if (auto list = view.as<List<int64_t>>()) {
    extents.assign(list->begin(), list->end());
  } else {
    FailType(i, "int or up to three of them", arg);
  }
  if (extents.empty() || extents.size() > 3) {
    Fail(i, "ValueError", "expected 1 to 3 extents, got " + std::to_string(extents.size()));
  }
  for (size_t axis = 0; axis < extents.size(); ++axis) SetField(i, first + axis, extents[axis]);
}

void Arguments::SetField(size_t i, size_t field, int64_t value) {
  int64_t least = field == kSharedMemory ? 0 : 1;
  if (value < least || value > 0x7fffffff) {
    Fail(i, "ValueError",
         (field == kSharedMemory ? "bytes" : std::string("the extent ") + "xyz"[field % 3]) +
             " must be from " + std::to_string(least) + " to 2147483647, got " +
             std::to_string(value));
  }
  launch_[field] = static_cast<uint32_t>(value);
}

void Arguments::FailType(size_t i, const std::string& expected, const TVMFFIAny& arg) const {
  Fail(i, "TypeError", "expected " + expected + ", got `" + KeyOf(arg) + "`");
}

void Arguments::Fail(size_t i, const char* kind, const std::string& reason) const {
  size_t count = signature_.parameters.size();
  const std::string& name =
      i < count ? signature_.parameters[i].name : signature_.launch[i - count].name;
  std::string message = signature_.Call() + ": argument " + std::to_string(i);
  if (!name.empty()) message += " `" + name + "`";
  throw Error(kind, message + ": " + reason, TVMFFIBacktrace(nullptr, 0, nullptr, 0));
}

}  // namespace tvm::ffi::extra::cuda
