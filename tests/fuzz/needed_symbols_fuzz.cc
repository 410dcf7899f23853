// SPDX-License-Identifier: Apache-2.0
// Fuzz target of the load-time check: arbitrary bytes as a library file, in memory.
#include <sys/mman.h>
#include <unistd.h>

#include "../../runtime/platform/platform.h"
#include "fuzz.h"

using tvm::ffi::platform::LibraryCheck;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const int file = memfd_create("library", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  FUZZ_REQUIRE(ftruncate(file, static_cast<off_t>(size)) == 0);
  FUZZ_REQUIRE(pwrite(file, data, size, 0) == static_cast<ssize_t>(size));
  LibraryCheck check = tvm::ffi::platform::CheckLibraryFile(path);
  FUZZ_REQUIRE(check.missing_symbols.size() <= 16);
  for (const std::string& name : check.missing_symbols) {
    FUZZ_REQUIRE(!name.empty() && name.find('\0') == std::string::npos);
  }
  FUZZ_REQUIRE(check.defect.empty() || check.defect.find("the file is ") == 0);
  return 0;
}
