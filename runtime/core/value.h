// SPDX-License-Identifier: Apache-2.0
// Value: a C++ class that owns a TVMFFIAny.  It has the same 16 bytes, so it crosses the C ABI
// without conversion.
#ifndef TVM_FFI_RUNTIME_CORE_VALUE_H_
#define TVM_FFI_RUNTIME_CORE_VALUE_H_

#include <tvm/ffi/c_api.h>

#include <string_view>

#include "object.h"

namespace tvm::ffi::runtime {

inline TVMFFIAny NoneAny() {
  TVMFFIAny any;
  any.type_index = kTVMFFINone;
  any.zero_padding = 0;
  any.v_int64 = 0;
  return any;
}

inline TVMFFIAny IntAny(int64_t value) {
  TVMFFIAny any = NoneAny();
  any.type_index = kTVMFFIInt;
  any.v_int64 = value;
  return any;
}

class Value {
 public:
  Value() : raw_(NoneAny()) {}
  Value(const Value& other) : raw_(other.raw_) {
    if (IsObject()) IncRef(raw_.v_obj);
  }
  Value(Value&& other) noexcept : raw_(other.Release()) {}
  Value& operator=(Value other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Value() noexcept(false) {
    if (IsObject()) DecRef(raw_.v_obj);
  }

  // Returns a Value that consumes an owned TVMFFIAny.
  static Value Adopt(TVMFFIAny owned) { return Value(owned); }
  // Converts a borrowed TVMFFIAny by the rules of TVMFFIAnyViewToOwnedAny: a raw string or byte
  // array is copied, an rvalue reference is moved from, and any other object gets a new reference.
  static Value FromView(const TVMFFIAny& view);

  template <typename T>
  static Value FromObject(Ref<T> object) {
    if (!object) return Value();
    TVMFFIAny any = NoneAny();
    any.type_index = object.header()->type_index;
    any.v_obj = object.release();
    return Value(any);
  }
  static Value Int(int64_t value) { return Value(IntAny(value)); }
  // Copies the text: up to 7 bytes into the TVMFFIAny, longer text into a heap object.
  static Value String(std::string_view text);
  static Value Bytes(std::string_view content);

  const TVMFFIAny& raw() const { return raw_; }
  int32_t type_index() const { return raw_.type_index; }
  bool IsNone() const { return raw_.type_index == kTVMFFINone; }
  bool IsObject() const { return raw_.type_index >= kTVMFFIStaticObjectBegin; }
  TVMFFIAny Release() {
    TVMFFIAny out = raw_;
    raw_ = NoneAny();
    return out;
  }

 private:
  explicit Value(TVMFFIAny owned) : raw_(owned) {}

  TVMFFIAny raw_;
};

// Returns true if a TVMFFIAny is a string in any of the three forms: raw pointer, small string or
// heap object.
inline bool IsText(const TVMFFIAny& any) {
  return any.type_index == kTVMFFISmallStr || any.type_index == kTVMFFIStr ||
         any.type_index == kTVMFFIRawStr;
}

// Returns the content of a TVMFFIAny for which IsText is true; borrowed from the TVMFFIAny.
std::string_view ViewOfText(const TVMFFIAny& any);

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_VALUE_H_
