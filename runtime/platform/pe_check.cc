// SPDX-License-Identifier: Apache-2.0
// Load-time check of a PE file: it is for this machine, a library and complete.
#include <algorithm>

#include "file_reader.h"
#include "platform.h"
#include "windows_text.h"

namespace tvm::ffi::platform {
namespace {

#ifdef __aarch64__
constexpr WORD kNativeMachine = IMAGE_FILE_MACHINE_ARM64;
#else
constexpr WORD kNativeMachine = IMAGE_FILE_MACHINE_AMD64;
#endif

// Returns the end of the last section in the file.
size_t EndOfSections(FileReader& file, size_t table, size_t count) {
  size_t end = table + count * sizeof(IMAGE_SECTION_HEADER);
  for (size_t i = 0; i < count; ++i) {
    // Only the two numbers are read: a whole section header is larger than one read.
    struct {
      DWORD size, offset;
    } data;
    size_t position =
        table + i * sizeof(IMAGE_SECTION_HEADER) + offsetof(IMAGE_SECTION_HEADER, SizeOfRawData);
    if (!file.Read(position, &data)) break;
    if (data.size > 0) end = std::max(end, size_t{data.offset} + data.size);
  }
  return end;
}

std::string FindFileDefect(FileReader& file) {
  IMAGE_DOS_HEADER dos;
  DWORD signature;
  IMAGE_FILE_HEADER header;
  if (!file.Read(0, &dos) || dos.e_magic != IMAGE_DOS_SIGNATURE) return "";
  auto start = static_cast<size_t>(dos.e_lfanew);
  if (!file.Read(start, &signature) || signature != IMAGE_NT_SIGNATURE) return "";
  if (!file.Read(start + sizeof(signature), &header)) return "";
  if (header.Machine != kNativeMachine) {
    return "the file is for another machine: expected PE machine " +
           std::to_string(kNativeMachine) + ", got " + std::to_string(header.Machine);
  }
  if ((header.Characteristics & IMAGE_FILE_DLL) == 0) {
    return "the file is not a shared library: expected the PE flag IMAGE_FILE_DLL";
  }
  size_t sections = start + sizeof(signature) + sizeof(header) + header.SizeOfOptionalHeader;
  size_t end = EndOfSections(file, sections, header.NumberOfSections);
  if (end <= file.size()) return "";
  return "the file is incomplete: expected at least " + std::to_string(end) + " bytes, got " +
         std::to_string(file.size());
}

}  // namespace

LibraryCheck CheckLibraryFile(const std::string& path) {
  LibraryCheck result;
  FileReader file(path);
  result.defect = FindFileDefect(file);
  if (std::string failure = file.Failure(); !failure.empty()) result.defect = failure;
  return result;
}

}  // namespace tvm::ffi::platform
