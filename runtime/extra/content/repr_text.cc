// SPDX-License-Identifier: Apache-2.0
// Repr of values without children, and of tensors, devices and type keys.
#include "content/repr_text.h"

#include <tvm/ffi/big_int.h>

#include <charconv>

#include "../platform/platform.h"

namespace tvm::ffi::extra {
namespace {

void AppendInt(int64_t value, std::string* out) {
  char digits[24];
  auto end = std::to_chars(digits, digits + sizeof(digits), value);
  out->append(digits, end.ptr);
}

// Appends the text that a default std::ostream would write for the number in the C locale: six
// significant digits, no trailing zeros.
void AppendFloat(double value, std::string* out) {
  char digits[32];
  out->append(digits, platform::PrintDouble(value, 6, digits));
}

void AppendExtents(const int64_t* extents, size_t count, std::string* out) {
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) *out += ", ";
    AppendInt(extents[i], out);
  }
}

void AppendString(const Any& value, std::string* out) {
  String text = EscapedStringPy(value.cast<String>());
  out->append(text.data(), text.size());
}

void AppendBytes(const Bytes& bytes, std::string* out) {
  *out += "b\"";
  for (size_t i = 0; i < bytes.size(); ++i) {
    auto byte = static_cast<unsigned char>(bytes.data()[i]);
    if (byte < 0x20 || byte > 0x7e || byte == '"' || byte == '\\') {
      detail::AppendHex(out, "\\x", byte, 2);
    } else {
      *out += static_cast<char>(byte);
    }
  }
  *out += '"';
}

// Appends the name of a dtype.  If the dtype has no name, appends its fields as numbers, because a
// repr must not fail.
void AppendDataType(DLDataType dtype, std::string* out) {
  try {
    String name = DLDataTypeToString(dtype);
    out->append(name.data(), name.size());
  } catch (const Error&) {
    bool is_complex = dtype.code == kDLComplex && dtype.lanes == 1;
    *out += is_complex ? "complex" + std::to_string(dtype.bits)
                       : "DataType(code=" + std::to_string(dtype.code) +
                             ", bits=" + std::to_string(dtype.bits) +
                             ", lanes=" + std::to_string(dtype.lanes) + ")";
  }
}

const char* NameOfDeviceType(int32_t type) {
  switch (type) {
    case kDLCPU:
      return "cpu";
    case kDLCUDA:
      return "cuda";
    case kDLCUDAHost:
      return "cuda_host";
    case kDLOpenCL:
      return "opencl";
    case kDLVulkan:
      return "vulkan";
    case kDLMetal:
      return "metal";
    case kDLVPI:
      return "vpi";
    case kDLROCM:
      return "rocm";
    case kDLROCMHost:
      return "rocm_host";
    case kDLExtDev:
      return "ext_dev";
    case kDLCUDAManaged:
      return "cuda_managed";
    case kDLOneAPI:
      return "oneapi";
    case kDLWebGPU:
      return "webgpu";
    case kDLHexagon:
      return "hexagon";
    case kDLMAIA:
      return "maia";
    case kDLTrn:
      return "trn";
    default:
      return nullptr;
  }
}

}  // namespace

void AppendDevice(DLDevice device, std::string* out) {
  auto type = static_cast<int32_t>(device.device_type);
  const char* name = NameOfDeviceType(type);
  *out += name != nullptr ? std::string(name) : std::to_string(type);
  *out += ':';
  AppendInt(device.device_id, out);
}

void AppendTypeKey(int32_t type_index, std::string* out) {
  const TypeInfo* type = TVMFFIGetTypeInfo(type_index);
  out->append(type->type_key.data, type->type_key.size);
}

void AppendTensorText(const TensorObj* tensor, std::string* out) {
  AppendDataType(tensor->dtype, out);
  *out += '[';
  AppendExtents(tensor->shape, static_cast<size_t>(tensor->ndim), out);
  *out += "]@";
  AppendDevice(tensor->device, out);
}

void AppendLeafText(const Any& value, std::string* out) {
  const TVMFFIAny& raw = *detail::AnyUnsafe::TVMFFIAnyPtrFromAny(value);
  switch (raw.type_index) {
    case kTVMFFINone:
      *out += "None";
      break;
    case kTVMFFIInt:
      AppendInt(raw.v_int64, out);
      break;
    case kTVMFFIBool:
      *out += raw.v_int64 != 0 ? "True" : "False";
      break;
    case kTVMFFIFloat:
      AppendFloat(raw.v_float64, out);
      break;
    case kTVMFFIDataType:
      AppendDataType(raw.v_dtype, out);
      break;
    case kTVMFFIDevice:
      AppendDevice(raw.v_device, out);
      break;
    case kTVMFFISmallStr:
    case kTVMFFIStr:
      AppendString(value, out);
      break;
    case kTVMFFISmallBytes:
    case kTVMFFIBytes:
      AppendBytes(value.cast<Bytes>(), out);
      break;
    case kTVMFFIShape: {
      const auto* shape = value.as<ShapeObj>();
      *out += "Shape(";
      AppendExtents(shape->data, shape->size, out);
      *out += ')';
      break;
    }
    case kTVMFFIBigInt:
      *out += detail::int_ops::ToDecimal(detail::BigIntUnsafe::GetArrayView(value.cast<BigInt>()));
      break;
    default:
      AppendTypeKey(raw.type_index, out);  // pointers, because the type of the target is unknown
  }
}

}  // namespace tvm::ffi::extra
