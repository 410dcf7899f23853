// SPDX-License-Identifier: Apache-2.0
// Constructors and accessors of C API values for the tests.  Written over the public header alone,
// independent of the runtime's classes.
#ifndef TVM_FFI_TESTS_RUNTIME_VALUES_H_
#define TVM_FFI_TESTS_RUNTIME_VALUES_H_

#include <doctest/doctest.h>
#include <tvm/ffi/c_api.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

inline TVMFFIByteArray Bytes(std::string_view text) {
  TVMFFIByteArray bytes;
  bytes.data = text.data();
  bytes.size = text.size();
  return bytes;
}

inline std::string Text(const TVMFFIByteArray& bytes) {
  return bytes.size == 0 ? std::string() : std::string(bytes.data, bytes.size);
}

// Sets every byte of a value, so that bytes which a callee does not write are detected.
inline TVMFFIAny GarbageAny() {
  TVMFFIAny any;
  any.type_index = 0x5A5A5A5A;
  any.zero_padding = 0x5A5A5A5A;
  any.v_uint64 = 0x5A5A5A5A5A5A5A5A;
  return any;
}

inline TVMFFIAny PlainAny(int32_t type_index, uint64_t payload) {
  TVMFFIAny any;
  any.type_index = type_index;
  any.zero_padding = 0;
  any.v_uint64 = payload;
  return any;
}

inline TVMFFIAny None() { return PlainAny(kTVMFFINone, 0); }
inline TVMFFIAny Int(int64_t value) { return PlainAny(kTVMFFIInt, static_cast<uint64_t>(value)); }
inline TVMFFIAny Bool(bool value) { return PlainAny(kTVMFFIBool, value ? 1 : 0); }
inline TVMFFIAny Pointer(int32_t type_index, const void* pointer) {
  return PlainAny(type_index, reinterpret_cast<uintptr_t>(pointer));
}
inline TVMFFIAny RawStr(const char* text) { return Pointer(kTVMFFIRawStr, text); }
// Returns a view of the object without a new reference.
inline TVMFFIAny ViewOf(TVMFFIObjectHandle object) {
  return Pointer(TVMFFIObjectGetTypeIndex(object), object);
}

inline bool SameBytes(const TVMFFIAny& a, const TVMFFIAny& b) {
  return a.type_index == b.type_index && a.zero_padding == b.zero_padding &&
         a.v_uint64 == b.v_uint64;
}

inline void Release(const TVMFFIAny& any) {
  if (any.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(any.v_obj);
}

// Returns the content of a small or heap string, or of small or heap bytes.
inline std::string TextOf(const TVMFFIAny& any) {
  switch (any.type_index) {
    case kTVMFFISmallStr:
    case kTVMFFISmallBytes:
      return Text(TVMFFISmallBytesGetContentByteArray(&any));
    case kTVMFFIStr:
    case kTVMFFIBytes:
      return Text(*TVMFFIBytesGetByteArrayPtr(any.v_obj));
    default:
      return "<not a text: type index " + std::to_string(any.type_index) + ">";
  }
}

// Same as TextOf for a value that the caller owns; releases the value.
inline std::string TakeText(const TVMFFIAny& any) {
  std::string text = TextOf(any);
  Release(any);
  return text;
}

inline uint64_t StrongCount(TVMFFIObjectHandle object) {
  auto* header = static_cast<TVMFFIObject*>(object);
  return __atomic_load_n(&header->combined_ref_count, __ATOMIC_RELAXED) &
         TVM_FFI_REF_COUNT_STRONG_MASK;
}

// Returns an owned opaque object; its destruction calls `deleter` with `tag`.
inline TVMFFIObjectHandle NewOpaque(void* tag, void (*deleter)(void*)) {
  TVMFFIObjectHandle object = nullptr;
  CHECK_EQ(TVMFFIObjectCreateOpaque(tag, kTVMFFIOpaquePyObject, deleter, &object), 0);
  return object;
}

// Returns an owned function, or nullptr if the name is not registered.
inline TVMFFIObjectHandle GetGlobal(std::string_view name) {
  TVMFFIByteArray bytes = Bytes(name);
  TVMFFIObjectHandle function = nullptr;
  CHECK_EQ(TVMFFIFunctionGetGlobal(&bytes, &function), 0);
  return function;
}

// Calls a global function and returns its code.  `result` receives an owned value.
inline int CallGlobal(std::string_view name, std::vector<TVMFFIAny> args, TVMFFIAny* result) {
  *result = None();
  TVMFFIObjectHandle function = GetGlobal(name);
  CHECK(function != nullptr);
  if (function == nullptr) return 1;
  int code = TVMFFIFunctionCall(function, args.data(), static_cast<int32_t>(args.size()), result);
  TVMFFIObjectDecRef(function);
  return code;
}

#endif  // TVM_FFI_TESTS_RUNTIME_VALUES_H_
