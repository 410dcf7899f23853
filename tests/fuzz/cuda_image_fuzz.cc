// SPDX-License-Identifier: Apache-2.0
// Fuzz target of device images: arbitrary bytes as PTX, cubin or fatbin.
#include <cstring>

#include "../../runtime/extra/cuda/image.h"
#include "fuzz.h"

namespace {

using namespace tvm::ffi;
using namespace tvm::ffi::extra::cuda;

bool IsAccepted(std::string_view bytes, std::string_view format) {
  try {
    ImageFormat found = CheckImage(bytes, format);
    FUZZ_REQUIRE(format.empty() || format == NameOf(found));
    return true;
  } catch (const Error& error) {
    fuzz::RequireKind(error, {"ValueError"});
    return false;
  }
}

uint64_t Number(std::string_view bytes, size_t offset, size_t width) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data() + offset, width);
  return value;
}

// Checks that the byte ranges that the driver reads are inside the image.
void RequireWhole(std::string_view bytes, std::string_view format) {
  if (format == "fatbin") {
    FUZZ_REQUIRE(Number(bytes, 6, 2) + Number(bytes, 8, 8) <= bytes.size());
  } else if (format == "cubin" && Number(bytes, 60, 2) != 0) {
    uint64_t end = Number(bytes, 40, 8) + Number(bytes, 60, 2) * Number(bytes, 58, 2);
    FUZZ_REQUIRE(end <= bytes.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  bool has_format = IsAccepted(bytes, "");
  int num_formats = 0;
  for (std::string_view format : {"ptx", "cubin", "fatbin"}) {
    if (!IsAccepted(bytes, format)) continue;
    ++num_formats;
    RequireWhole(bytes, format);
  }
  FUZZ_REQUIRE(num_formats == (has_format ? 1 : 0));
  FUZZ_REQUIRE(!IsAccepted(bytes, bytes) || bytes.empty());
  return 0;
}
