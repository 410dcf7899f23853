// SPDX-License-Identifier: Apache-2.0
// A dump of a map's memory without addresses, read at the offsets of the contract.
#ifndef TVM_FFI_TESTS_COMPAT_EXCHANGE_MAP_IMAGE_H_
#define TVM_FFI_TESTS_COMPAT_EXCHANGE_MAP_IMAGE_H_

#include <tvm/ffi/any.h>

#include <cstring>
#include <string>

namespace exchange {

class MapImage {
 public:
  explicit MapImage(const tvm::ffi::ObjectRef& map)
      : object_(reinterpret_cast<const char*>(map.get())) {}

  std::string Text() {
    uint64_t slots = Read<uint64_t>(object_ + 40);
    Put("size", Read<uint64_t>(object_ + 32));
    Put("slots", slots);
    if (slots >> 63 != 0) {
      PutPairs();
    } else {
      PutTable(slots);
    }
    return std::move(text_);
  }

 private:
  template <typename T>
  static T Read(const char* at) {
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value;
  }
  void Put(const char* name, uint64_t number) {
    text_ += std::string(name) + " " + std::to_string(number) + "\n";
  }
  // Dumps an Any: a string's content, an object's type, or all 16 bytes of other values.
  void PutValue(const char* at) {
    TVMFFIAny any = Read<TVMFFIAny>(at);
    text_ += std::to_string(any.type_index) + ":";
    if (any.type_index == kTVMFFIStr || any.type_index == kTVMFFIBytes) {
      TVMFFIByteArray bytes = *TVMFFIBytesGetByteArrayPtr(any.v_obj);
      text_.append(bytes.data, bytes.size);
    } else if (any.type_index < kTVMFFIStaticObjectBegin) {
      text_ += std::to_string(any.zero_padding) + ":" + std::to_string(any.v_uint64);
    }
    text_ += " ";
  }
  void PutPairs() {
    text_ += Read<void (*)(void*)>(object_ + 48) == nullptr ? "inline\n" : "owned\n";
    const char* pairs = Read<const char*>(object_ + 24);
    for (uint64_t i = 0; i < Read<uint64_t>(object_ + 32); ++i) {
      PutValue(pairs + i * 32);
      PutValue(pairs + i * 32 + 16);
      text_ += "\n";
    }
  }
  void PutTable(uint64_t slots) {
    Put("fib_shift", Read<uint32_t>(object_ + 56));
    Put("head", Read<uint64_t>(object_ + 64));
    Put("tail", Read<uint64_t>(object_ + 72));
    const char* blocks = Read<const char*>(object_ + 24);
    for (uint64_t slot = 0; slot < slots; ++slot) {
      const char* block = blocks + slot / 16 * 784;
      uint8_t meta = Read<uint8_t>(block + slot % 16);
      Put("meta", meta);
      if (meta == 0xFF) continue;
      const char* entry = block + 16 + slot % 16 * 48;
      PutValue(entry);
      PutValue(entry + 16);
      Put("prev", Read<uint64_t>(entry + 32));
      Put("next", Read<uint64_t>(entry + 40));
    }
  }

  const char* object_;
  std::string text_;
};

}  // namespace exchange

#endif  // TVM_FFI_TESTS_COMPAT_EXCHANGE_MAP_IMAGE_H_
