// SPDX-License-Identifier: Apache-2.0
// Fuzz target of dtypes and devices: arbitrary bytes as their text, and as a dtype to print.
#include <tvm/ffi/any.h>
#include <tvm/ffi/device.h>
#include <tvm/ffi/dtype.h>

#include <cstring>

#include "fuzz.h"

namespace {

using namespace tvm::ffi;

void RequireFailed(std::initializer_list<std::string_view> kinds) {
  fuzz::RequireKind(detail::MoveFromSafeCallRaised(), kinds);
}

bool Read(std::string_view text, DLDataType* dtype) {
  TVMFFIByteArray bytes{text.data(), text.size()};
  return TVMFFIDataTypeFromString(&bytes, dtype) == 0;
}

// The printed text must be read as the same type, except for bits that two types print in the same
// way.
void RequireReadable(const DLDataType& dtype) {
  Any text;
  if (TVMFFIDataTypeToString(&dtype, reinterpret_cast<TVMFFIAny*>(&text)) != 0) {
    return RequireFailed(
        {"ValueError", "RuntimeError"});  // not a custom name, or no function is registered for it
  }
  String name = text.cast<String>();
  DLDataType again;
  std::memset(&again, 0, sizeof(again));
  if (!Read({name.data(), name.size()}, &again)) return RequireFailed({"ValueError"});
  FUZZ_REQUIRE(again.code == dtype.code || dtype.lanes == 0);
}

void RequireText(std::string_view text) {
  DLDataType dtype;
  if (!Read(text, &dtype)) {
    // A custom type needs a registered global function, and this program registers none.
    bool is_custom = text.substr(0, 7) == "custom[";
    return RequireFailed({"ValueError", is_custom ? "RuntimeError" : "ValueError"});
  }
  FUZZ_REQUIRE(dtype.lanes != 0 || (dtype.code == kDLOpaqueHandle && dtype.bits == 0));
  Any name;
  FUZZ_REQUIRE(TVMFFIDataTypeToString(&dtype, reinterpret_cast<TVMFFIAny*>(&name)) == 0);
  String printed = name.cast<String>();
  DLDataType again;
  FUZZ_REQUIRE(Read({printed.data(), printed.size()}, &again));
  // In the contract, a scalable type of one lane (-1 in 16 bits) prints as a type of one lane.
  FUZZ_REQUIRE(again.code == dtype.code);
  FUZZ_REQUIRE(again.lanes == (dtype.lanes == 0xFFFF ? 1 : dtype.lanes));
  FUZZ_REQUIRE(again.bits == dtype.bits || dtype.code == kDLOpaqueHandle);
}

void RequireDevice(std::string_view text) {
  DLDevice device{static_cast<DLDeviceType>(-1), -1};
  bool is_device = detail::ParseDevice(text, &device);
  FUZZ_REQUIRE(is_device == (device.device_type > 0));
  FUZZ_REQUIRE(is_device == (device.device_id >= 0));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A copy of the text without any bytes after it, so that reads past the end are detected.
  std::string text(reinterpret_cast<const char*>(data), size);
  RequireText(text);
  RequireDevice(text);
  DLDataType dtype;
  if (size == sizeof(dtype)) {
    std::memcpy(&dtype, data, sizeof(dtype));
    RequireReadable(dtype);
  }
  return 0;
}
