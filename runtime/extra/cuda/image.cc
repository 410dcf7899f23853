// SPDX-License-Identifier: Apache-2.0
#include "cuda/image.h"

#include <tvm/ffi/error.h>

#include <optional>

#include "module/byte_reader.h"

namespace tvm::ffi::extra::cuda {
namespace {

[[noreturn]] void Fail(const std::string& reason) {
  TVM_FFI_THROW(ValueError) << "CUDA image: " << reason;
  TVM_FFI_UNREACHABLE();
}

[[noreturn]] void FailTruncated(const char* format, std::string_view bytes) {
  Fail(std::string("the ") + format + " is truncated after " + std::to_string(bytes.size()) +
       " bytes");
}

// Returns true if `count` table entries of `size` bytes each, from `offset` on, are inside the
// image.
bool Contains(std::string_view bytes, uint64_t offset, uint64_t count, uint64_t size) {
  if (count == 0) return true;
  return offset <= bytes.size() && size != 0 && count <= (bytes.size() - offset) / size;
}

// Checks the ELF header and that all program headers and sections are inside the image.
void CheckCubin(std::string_view bytes) {
  constexpr size_t kHeader = 64, kSection = 64;
  if (bytes.size() < kHeader) FailTruncated("cubin", bytes);
  if (bytes[4] != 2 || bytes[5] != 1) Fail("the cubin is not a 64-bit little-endian ELF file");
  uint64_t segments = LittleEndian(bytes, 32, 8), sections = LittleEndian(bytes, 40, 8);
  uint64_t num_segments = LittleEndian(bytes, 56, 2), num_sections = LittleEndian(bytes, 60, 2);
  uint64_t section_size = LittleEndian(bytes, 58, 2);
  bool is_whole = Contains(bytes, segments, num_segments, LittleEndian(bytes, 54, 2)) &&
                  Contains(bytes, sections, num_sections, section_size);
  if (!is_whole) FailTruncated("cubin", bytes);
  if (num_sections != 0 && section_size < kSection)
    Fail("the cubin has section headers of " + std::to_string(section_size) +
         " bytes, expected at least " + std::to_string(kSection));
  for (uint64_t i = 0; i < num_sections; ++i) {
    size_t section = static_cast<size_t>(sections + i * section_size);
    // A section of type 8 (SHT_NOBITS) has no bytes in the file.
    bool has_bytes = LittleEndian(bytes, section + 4, 4) != 8;
    uint64_t offset = LittleEndian(bytes, section + 24, 8),
             size = LittleEndian(bytes, section + 32, 8);
    if (has_bytes && !Contains(bytes, offset, size, 1)) FailTruncated("cubin", bytes);
  }
}

// Checks a fatbin, whose header is: magic u32, version u16, header size u16, size of the contents
// u64.
void CheckFatbin(std::string_view bytes) {
  constexpr size_t kHeader = 16;
  if (bytes.size() < kHeader) FailTruncated("fatbin", bytes);
  uint64_t header = LittleEndian(bytes, 6, 2), contents = LittleEndian(bytes, 8, 8);
  if (header > bytes.size() || contents > bytes.size() - header) FailTruncated("fatbin", bytes);
}

// Rejects PTX with a NUL byte inside the text, because the driver would stop reading at the NUL.
void CheckPtx(std::string_view bytes) {
  while (!bytes.empty() && bytes.back() == '\0') bytes.remove_suffix(1);
  if (bytes.find('\0') != std::string_view::npos) Fail("the PTX contains a NUL byte");
}

std::optional<ImageFormat> FormatOf(std::string_view bytes) {
  if (bytes.substr(0, 4) ==
      "\x7f"
      "ELF")
    return ImageFormat::kCubin;
  if (bytes.substr(0, 4) == "\x50\xed\x55\xba") return ImageFormat::kFatbin;
  // PTX is text that contains a `.version` directive, possibly after comments.  The other image
  // formats are binary.
  if (bytes.find(".version") != std::string_view::npos) return ImageFormat::kPtx;
  return std::nullopt;
}

}  // namespace

const char* NameOf(ImageFormat format) {
  if (format == ImageFormat::kPtx) return "ptx";
  return format == ImageFormat::kCubin ? "cubin" : "fatbin";
}

ImageFormat CheckImage(std::string_view bytes, std::string_view format) {
  bool is_known = format == "" || format == "ptx" || format == "cubin" || format == "fatbin";
  if (!is_known) {
    Fail("expected format ptx, cubin or fatbin, got `" + std::string(format) + "`");
  }
  std::optional<ImageFormat> found = FormatOf(bytes);
  if (!found.has_value()) Fail("expected PTX, a cubin or a fatbin, got bytes of another format");
  if (format != "" && format != NameOf(*found)) {
    Fail("expected a " + std::string(format) + ", got a " + NameOf(*found));
  }
  if (*found == ImageFormat::kPtx) CheckPtx(bytes);
  if (*found == ImageFormat::kCubin) CheckCubin(bytes);
  if (*found == ImageFormat::kFatbin) CheckFatbin(bytes);
  return *found;
}

}  // namespace tvm::ffi::extra::cuda
