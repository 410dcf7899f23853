// SPDX-License-Identifier: Apache-2.0
#include "checks/failure.h"

#include <tvm/ffi/any.h>
#include <tvm/ffi/error.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "../core/extra_layer.h"

namespace tvm::ffi::extra::checks {

int32_t TypeIndexOf(const TVMFFIAny& arg) {
  if (arg.type_index != kTVMFFIObjectRValueRef) return arg.type_index;
  TVMFFIObject* object = *static_cast<TVMFFIObject**>(arg.v_ptr);
  return object == nullptr ? static_cast<int32_t>(kTVMFFINone) : object->type_index;
}

namespace {

// Returns the Python name of a type for messages, such as "int"; nullptr for a type whose type key
// serves as its name.  ORDER words-of-types, see signature/_values.py.
const char* TypeNameOf(int32_t type_index) {
  switch (type_index) {
    case kTVMFFIOpaquePtr:
      return "ctypes.c_void_p";
    case kTVMFFIDataType:
      return "dtype";
    case kTVMFFIDLTensorPtr:
    case kTVMFFITensor:
      return "Tensor";
    case kTVMFFIRawStr:
    case kTVMFFISmallStr:
    case kTVMFFIStr:
      return "str";
    case kTVMFFIByteArrayPtr:
    case kTVMFFISmallBytes:
    case kTVMFFIBytes:
      return "bytes";
    case kTVMFFIObject:
    case kTVMFFIObjectRValueRef:
      return "Object";
    case kTVMFFIFunction:
      return "Callable";
    case kTVMFFIArray:
      return "Array";
    case kTVMFFIMap:
      return "Map";
    case kTVMFFIList:
      return "List";
    case kTVMFFIDict:
      return "Dict";
    case kTVMFFIBigInt:
      return "int of more than 64 bits";
    case kTVMFFIOpaquePyObject:
      return "Python object";
    default:
      return nullptr;
  }
}

}  // namespace

std::string TypeNameOf(const TVMFFIAny& arg) {
  if (arg.type_index == kTVMFFIDLTensorPtr && arg.v_ptr == nullptr) return "NULL";
  int32_t index = TypeIndexOf(arg);
  if (const char* name = TypeNameOf(index)) return name;
  if (index < kTVMFFIStaticObjectBegin && !runtime::IsRegisteredType(index)) {
    return "value of an unknown type";
  }
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(index);
  return std::string(info->type_key.data, info->type_key.size);
}

std::string DtypeText(DLDataType dtype) {
  if (dtype.code == kDLComplex) {  // TVMFFIDataTypeToString has no names for complex dtypes
    std::string lanes = dtype.lanes > 1 ? "x" + std::to_string(dtype.lanes) : std::string();
    return "complex" + std::to_string(dtype.bits) + lanes;
  }
  TVMFFIAny name;
  if (TVMFFIDataTypeToString(&dtype, &name) == 0) {
    return ffi::detail::AnyUnsafe::MoveTVMFFIAnyToAny(&name).cast<std::string>();
  }
  ffi::detail::MoveFromSafeCallRaised();
  return "an unnamed dtype";
}

std::string StridesText(const DLTensor& tensor) {
  constexpr int32_t kMaxShown = 8;
  std::string text;
  for (int32_t i = 0; i < std::min(tensor.ndim, kMaxShown); ++i) {
    text += (i == 0 ? "(" : ", ") + std::to_string(tensor.strides[i]);
  }
  return text + (tensor.ndim > kMaxShown ? ", ...)" : tensor.ndim == 1 ? ",)" : ")");
}

void Raise(const Failure& failure, const MessageValues& values) {
  static constexpr const char* kKinds[] = {"TypeError", "ValueError", "RuntimeError"};
  const std::pair<std::string_view, const std::string*> placeholders[] = {
      {"{got}", &values.got},
      {"{expected}", &values.expected},
      {"{axis}", &values.axis},
      {"{index}", &values.index},
      {"{device}", &values.device},
      {"{gpu}", &values.gpu},
      {"{architecture}", &values.architecture},
  };
  std::string_view text = failure.message;
  std::string filled;
  while (!text.empty()) {
    size_t taken = 1;
    std::string_view output = text.substr(0, 1);
    // "{{" and "}}" are escaped braces.
    if (text.substr(0, 2) == "{{" || text.substr(0, 2) == "}}") taken = 2;
    for (const auto& [placeholder, value] : placeholders) {
      bool is_next = taken == 1 && text.substr(0, placeholder.size()) == placeholder;
      if (is_next) taken = placeholder.size(), output = *value;
    }
    filled += output;
    text.remove_prefix(taken);
  }
  throw Error(kKinds[failure.kind], filled, TVMFFIBacktrace(nullptr, 0, nullptr, 0));
}

}  // namespace tvm::ffi::extra::checks
