// SPDX-License-Identifier: Apache-2.0
// Fuzz target of JSON text: values that are read can be written and read again.
#include <tvm/ffi/extra/json.h>

#include "fuzz.h"

namespace {

using namespace tvm::ffi;

// Checks the form "MESSAGE: line 1 column 2 (char 1)", with a position inside the text.
void RequirePosition(std::string_view message, size_t text_size) {
  size_t place = message.rfind(" (char ");
  FUZZ_REQUIRE(message.substr(0, place).find(": line ") != std::string_view::npos);
  FUZZ_REQUIRE(place != std::string_view::npos && message.back() == ')');
  FUZZ_REQUIRE(std::stoull(std::string(message.substr(place + 7))) <= text_size);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  String text(reinterpret_cast<const char*>(data), size);
  String message;
  Any value = json::Parse(text, &message);
  if (!message.empty()) {
    FUZZ_REQUIRE(value == nullptr);
    RequirePosition({message.data(), message.size()}, size);
    return 0;
  }
  String written = json::Stringify(value);
  Any again = json::Parse(written, &message);
  FUZZ_REQUIRE(message.empty());
  FUZZ_REQUIRE(json::Stringify(again) == written);
  // White space that is inserted between tokens must not change the value.
  again = json::Parse(json::Stringify(value, data[0] % 5), &message);
  FUZZ_REQUIRE(message.empty());
  FUZZ_REQUIRE(json::Stringify(again) == written);
  return 0;
}
