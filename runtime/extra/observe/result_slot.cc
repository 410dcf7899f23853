// SPDX-License-Identifier: Apache-2.0
// Checks of the result slot: padding, payload, type and object of a result.
#include "observe/result_slot.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "observe/kept_arguments.h"

namespace tvm::ffi::extra {
namespace {

constexpr uint32_t kFill32 = 0xA5A5A5A5;
constexpr uint64_t kFill64 = 0xA5A5A5A5A5A5A5A5;

std::string Hex(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

// Placeholders of unregistered types have no ancestors.
bool IsRegisteredObjectType(int32_t type_index) {
  return type_index == kTVMFFIObject || TVMFFIGetTypeInfo(type_index)->type_depth > 0;
}

bool IsSmall(int32_t type_index) {
  return type_index == kTVMFFISmallStr || type_index == kTVMFFISmallBytes;
}

void CheckNone(const TVMFFIAny& result, bool needs_result, ResultFaults* faults) {
  bool is_unwritten = result.zero_padding == kFill32 && result.v_uint64 == kFill64;
  if (needs_result) {
    faults->emplace_back("call.result-unset",
                         is_unwritten
                             ? "the function did not write the result that its signature declares"
                             : "the function returned None, but its signature declares a result");
  }
  // A function that returns None may leave the slot as it is, or write only the type index.
  bool is_padding_right = result.zero_padding == 0 || result.zero_padding == kFill32;
  bool is_payload_right = result.v_uint64 == 0 || result.v_uint64 == kFill64;
  if (is_padding_right && is_payload_right) return;
  faults->emplace_back("any.payload", "None with the payload " + Hex(result.v_uint64));
}

void CheckSmall(const TVMFFIAny& result, ResultFaults* faults) {
  if (result.small_str_len > 7) {
    faults->emplace_back("any.small-length", TypeName(result.type_index) + " with the length " +
                                                 std::to_string(result.small_str_len));
    return;
  }
  const char* end = result.v_bytes + sizeof(result.v_bytes);
  if (std::all_of(result.v_bytes + result.small_str_len, end, [](char c) { return c == 0; })) {
    return;
  }
  faults->emplace_back("any.small-length", "a byte after the content of the small string is not 0");
}

bool HasWrongShape(const DLTensor& tensor) {
  if (tensor.ndim < 0 || (tensor.ndim > 0 && tensor.shape == nullptr)) return true;
  return std::any_of(tensor.shape, tensor.shape + tensor.ndim, [](int64_t x) { return x < 0; });
}

void CheckObject(const TVMFFIAny& result, ResultFaults* faults) {
  std::string type = TypeName(result.type_index);
  if (!IsRegisteredObjectType(result.type_index)) {
    faults->emplace_back("any.type-index",
                         "no type has the type index " + std::to_string(result.type_index));
  } else if (result.v_obj == nullptr) {
    faults->emplace_back("any.null-object", "a null pointer as " + type);
  } else if (result.v_obj->type_index != result.type_index) {
    faults->emplace_back("any.object-type", "the result has the type " + type +
                                                ", its object the type " +
                                                TypeName(result.v_obj->type_index));
  } else if (StrongCount(result.v_obj) == 0 || IsReleased(result.v_obj)) {
    faults->emplace_back("object.used-after-release", "an object that has been released");
  } else if (result.type_index == kTVMFFITensor &&
             HasWrongShape(*TVMFFITensorGetDLTensorPtr(result.v_obj))) {
    faults->emplace_back("tensor.shape", "a tensor with a negative extent or no shape");
  }
}

}  // namespace

std::string TypeName(int32_t type_index) {
  const TVMFFIByteArray& key = TVMFFIGetTypeInfo(type_index)->type_key;
  return std::string(key.data, key.size);
}

void FillSlot(TVMFFIAny* slot) {
  slot->zero_padding = kFill32;
  slot->v_uint64 = kFill64;
}

ResultFaults CheckSlot(const TVMFFIAny& result, bool is_filled, bool needs_result) {
  ResultFaults faults;
  int32_t index = result.type_index;
  if (index == kTVMFFINone) {
    CheckNone(result, needs_result, &faults);
    return faults;
  }
  if (IsSmall(index)) {
    CheckSmall(result, &faults);
    return faults;
  }
  if (result.zero_padding != 0) {
    bool is_unwritten = is_filled && result.zero_padding == kFill32;
    faults.emplace_back("any.padding", is_unwritten
                                           ? std::string("the function did not write zero_padding")
                                           : "zero_padding is " + Hex(result.zero_padding));
  }
  if (index >= kTVMFFIDLTensorPtr && index <= kTVMFFIObjectRValueRef) {
    faults.emplace_back("call.result-borrowed",
                        "a result of type " + TypeName(index) + ", whose memory nobody owns");
  } else if (is_filled && result.v_uint64 == kFill64) {
    faults.emplace_back("call.result-unset", "the function wrote the type index of " +
                                                 TypeName(index) + " and no payload");
  } else if (index == kTVMFFIBool && (result.v_uint64 >> 1) != 0) {
    faults.emplace_back("any.bool", "a bool with the payload " + Hex(result.v_uint64));
  } else if (index == kTVMFFIDataType && (result.v_uint64 >> 32) != 0) {
    faults.emplace_back("any.payload", "a dtype with the payload " + Hex(result.v_uint64));
  } else if (index >= kTVMFFIStaticObjectBegin) {
    CheckObject(result, &faults);
  } else if (index < 0 || index > kTVMFFIUnchanged) {
    faults.emplace_back("any.type-index", "no type has the type index " + std::to_string(index));
  }
  return faults;
}

void RepairSlot(TVMFFIAny* slot) {
  int32_t index = slot->type_index;
  if (IsSmall(index)) {
    slot->small_str_len = std::min<uint32_t>(slot->small_str_len, 7);
    std::memset(slot->v_bytes + slot->small_str_len, 0, 8 - slot->small_str_len);
    return;
  }
  slot->zero_padding = 0;
  if (index == kTVMFFINone) {
    slot->v_uint64 = 0;
  } else if (index == kTVMFFIBool) {
    slot->v_uint64 = (slot->v_uint64 & 0xFF) != 0;
  } else if (index == kTVMFFIDataType) {
    slot->v_uint64 &= 0xFFFFFFFF;
  } else if (slot->v_uint64 == kFill64) {  // a type index without a payload
    slot->v_uint64 = 0;
  }
  if (index < kTVMFFIStaticObjectBegin) return;
  if (slot->v_obj == nullptr || !IsRegisteredObjectType(index)) {
    std::memset(slot, 0, sizeof(*slot));
  } else {
    slot->type_index = slot->v_obj->type_index;
  }
}

}  // namespace tvm::ffi::extra
