// SPDX-License-Identifier: Apache-2.0
// Short text of the arguments of a call.
#include "observe/argument_text.h"

#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/device.h>
#include <tvm/ffi/dtype.h>

#include <cstdio>
#include <string_view>

namespace tvm::ffi::extra {
namespace {

constexpr size_t kMaxText = 240;  // bytes
constexpr size_t kMaxString = 60;

void AppendTensor(const DLTensor& tensor, std::string* text) {
  String dtype = DLDataTypeToString(tensor.dtype);
  text->append(dtype.data(), dtype.size()).push_back('[');
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    if (i > 0) text->append(", ");
    text->append(std::to_string(tensor.shape[i]));
  }
  text->push_back(']');
  if (tensor.device.device_type == kDLCPU) return;
  ffi::detail::MessageStream device;
  device << "@" << tensor.device;
  text->append(device.str());
}

void AppendArgument(const TVMFFIAny& arg, std::string* text) {
  char number[32];
  std::string_view string;
  if (const DLTensor* tensor = TensorOf(arg)) return AppendTensor(*tensor, text);
  switch (arg.type_index) {
    case kTVMFFINone:
      text->append("None");
      return;
    case kTVMFFIBool:
      text->append(arg.v_int64 != 0 ? "True" : "False");
      return;
    case kTVMFFIInt:
      text->append(std::to_string(arg.v_int64));
      return;
    case kTVMFFIFloat:
      std::snprintf(number, sizeof(number), "%.6g", arg.v_float64);
      text->append(number);
      return;
    case kTVMFFIRawStr:
      string = arg.v_c_str;
      break;
    case kTVMFFISmallStr:
      string = {arg.v_bytes, arg.small_str_len};
      break;
    case kTVMFFIStr: {
      const TVMFFIByteArray* bytes = TVMFFIBytesGetByteArrayPtr(arg.v_obj);
      string = {bytes->data, bytes->size};
      break;
    }
    default: {
      const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(arg.type_index);
      if (info == nullptr)
        text->push_back('?');
      else
        text->append(info->type_key.data, info->type_key.size);
      return;
    }
  }
  text->push_back('\'');
  text->append(string.substr(0, kMaxString)).append(string.size() > kMaxString ? "...'" : "'");
}

}  // namespace

const DLTensor* TensorOf(const TVMFFIAny& arg) {
  if (arg.type_index == kTVMFFIDLTensorPtr) return static_cast<const DLTensor*>(arg.v_ptr);
  return arg.type_index == kTVMFFITensor ? TVMFFITensorGetDLTensorPtr(arg.v_obj) : nullptr;
}

void AppendArguments(const TVMFFIObservedCall& call, std::string* text) {
  size_t begin = text->size();
  for (int32_t i = 0; i < call.num_args; ++i) {
    if (text->size() - begin > kMaxText) {
      text->append(", ...");
      return;
    }
    if (i > 0) text->append(", ");
    AppendArgument(call.args[i], text);
  }
}

}  // namespace tvm::ffi::extra
