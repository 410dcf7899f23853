// SPDX-License-Identifier: Apache-2.0
// Values for the sequences of calls: constructors, invariants of values, and tensors.
#ifndef TVM_FFI_TESTS_FUZZ_C_API_VALUES_H_
#define TVM_FFI_TESTS_FUZZ_C_API_VALUES_H_

#include <tvm/ffi/c_api.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/function.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz.h"

namespace fuzz {

using namespace tvm::ffi;

// Strings that have a meaning for some function: names, formats, numbers, hooks.
inline const char* const kTexts[] = {"",          "a",      "key",        "[1,{\"a\":null}]",
                                     "float32x4", "cuda:1", "\xff\xfe",   "a text of many bytes",
                                     "123",       "fuzz.a", "fuzz.Node1", "__ffi_repr__"};

inline TVMFFIByteArray Bytes(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view Text(TVMFFIByteArray bytes) { return {bytes.data, bytes.size}; }

inline TVMFFIAny PlainValue(int32_t type_index, int64_t payload) {
  TVMFFIAny value;
  value.type_index = type_index;
  value.zero_padding = 0;
  value.v_int64 = payload;
  return value;
}
inline TVMFFIAny PointerValue(int32_t type_index, const void* pointer) {
  return PlainValue(type_index, reinterpret_cast<intptr_t>(pointer));
}
inline TVMFFIAny View(const Any& value) { return AnyView(value).CopyToTVMFFIAny(); }
inline Any AnyOfView(const TVMFFIAny& view) { return Any(AnyView::CopyFromTVMFFIAny(view)); }
inline Any AnyOfOwned(TVMFFIObjectHandle object) {
  return detail::AnyUnsafe::MoveTVMFFIAnyRawToAny(
      PointerValue(TVMFFIObjectGetTypeIndex(object), object));
}

inline TVMFFIAny Garbage() {
  TVMFFIAny value;
  std::memset(&value, 0x5A, sizeof(value));
  return value;
}
inline bool IsGarbage(const TVMFFIAny& value) {
  TVMFFIAny garbage = Garbage();
  return std::memcmp(&value, &garbage, sizeof(value)) == 0;
}

// Checks the ABI's rules for the 16 bytes of every owned value.
inline void RequireWellFormed(const TVMFFIAny& value) {
  if (value.type_index >= kTVMFFIStaticObjectBegin) {
    FUZZ_REQUIRE(value.zero_padding == 0 && value.v_obj != nullptr);
    FUZZ_REQUIRE(value.v_obj->type_index == value.type_index);
    return;
  }
  FUZZ_REQUIRE(value.type_index >= 0 && value.type_index <= kTVMFFIUnchanged);
  bool is_view = value.type_index >= kTVMFFIDLTensorPtr && value.type_index < kTVMFFISmallStr;
  FUZZ_REQUIRE(!is_view);
  if (value.type_index == kTVMFFISmallStr || value.type_index == kTVMFFISmallBytes) {
    FUZZ_REQUIRE(value.small_str_len <= 7);
    for (uint32_t i = value.small_str_len; i < 8; ++i) FUZZ_REQUIRE(value.v_bytes[i] == 0);
    return;
  }
  FUZZ_REQUIRE(value.zero_padding == 0);
  if (value.type_index == kTVMFFINone) FUZZ_REQUIRE(value.v_int64 == 0);
  if (value.type_index == kTVMFFIBool) FUZZ_REQUIRE(value.v_uint64 <= 1);
  if (value.type_index == kTVMFFIDataType) FUZZ_REQUIRE(value.v_uint64 >> 32 == 0);
}

// A tensor whose metadata may be invalid, but points to valid memory.
class TensorChoice {
 public:
  explicit TensorChoice(Input* in) : tensor_(new Owned) {
    is_readable = in->Below(4) != 0;
    DLTensor& t = tensor_->managed.dl_tensor;
    t.ndim = static_cast<int32_t>(in->Below(4)) - (is_readable ? 0 : 1);
    t.data = tensor_->bytes;
    t.device = {is_readable ? kDLCPU : static_cast<DLDeviceType>(in->Below(20)), 0};
    t.dtype = {static_cast<uint8_t>(in->Below(5)), static_cast<uint8_t>(8 << in->Below(4)), 1};
    t.shape = tensor_->shape;
    t.strides = in->Below(2) == 0 ? nullptr : tensor_->strides;
    t.byte_offset = is_readable ? 8 * in->Below(3) : in->Number(8);
    for (int i = 0; i < 4; ++i) {
      tensor_->shape[i] = is_readable ? in->Below(5) : in->Integer();
      tensor_->strides[i] = is_readable ? in->Below(17) : in->Integer();
    }
    tensor_->managed.manager_ctx = tensor_;
    tensor_->managed.deleter = [](DLManagedTensor* self) {
      delete static_cast<Owned*>(self->manager_ctx);
    };
  }

  DLTensor Prototype() const { return tensor_->managed.dl_tensor; }
  int Take(int32_t alignment, int32_t contiguous, TVMFFIObjectHandle* out) {
    return TVMFFITensorFromDLPack(&tensor_->managed, alignment, contiguous, out);
  }
  // Releases the tensor if no call has taken ownership.
  void Release() { delete tensor_; }

  bool is_readable;

 private:
  struct Owned {
    DLManagedTensor managed;
    int64_t shape[4];
    int64_t strides[4];
    alignas(64) char bytes[4096] = {};
  };
  Owned* tensor_;
};

}  // namespace fuzz

#endif  // TVM_FFI_TESTS_FUZZ_C_API_VALUES_H_
