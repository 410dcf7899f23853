// SPDX-License-Identifier: Apache-2.0
// Load-time check of a Mach-O file: it is for this machine and a library.
#include <mach-o/loader.h>

#include "file_reader.h"
#include "platform.h"

namespace tvm::ffi::platform {
namespace {

#ifdef __aarch64__
constexpr cpu_type_t kNativeProcessor = CPU_TYPE_ARM64;
#else
constexpr cpu_type_t kNativeProcessor = CPU_TYPE_X86_64;
#endif

}  // namespace

// A file for several machines begins with another number; the loader selects the part of it.
LibraryCheck CheckLibraryFile(const std::string& path) {
  LibraryCheck result;
  FileReader file(path);
  mach_header_64 header;
  if (file.Read(0, &header) && header.magic == MH_MAGIC_64) {
    if (header.cputype != kNativeProcessor) {
      result.defect = "the file is for another machine: expected Mach-O processor " +
                      std::to_string(kNativeProcessor) + ", got " + std::to_string(header.cputype);
    } else if (header.filetype != MH_DYLIB && header.filetype != MH_BUNDLE) {
      result.defect = "the file is not a shared library: expected Mach-O type " +
                      std::to_string(MH_DYLIB) + " or " + std::to_string(MH_BUNDLE) + ", got " +
                      std::to_string(header.filetype);
    } else if (file.size() - sizeof(header) < header.sizeofcmds) {
      result.defect = "the file is incomplete: expected at least " +
                      std::to_string(sizeof(header) + header.sizeofcmds) + " bytes, got " +
                      std::to_string(file.size());
    }
  }
  if (std::string failure = file.Failure(); !failure.empty()) result.defect = failure;
  return result;
}

}  // namespace tvm::ffi::platform
