// SPDX-License-Identifier: Apache-2.0
// Little-endian reader for saved modules and device images.
#ifndef TVM_FFI_RUNTIME_EXTRA_MODULE_BYTE_READER_H_
#define TVM_FFI_RUNTIME_EXTRA_MODULE_BYTE_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tvm::ffi::extra {

// Returns the integer that has `width` bytes at the offset.  `width` is at most 8.  The caller
// checks that the bytes exist.
inline uint64_t LittleEndian(std::string_view bytes, size_t offset, size_t width) {
  uint64_t value = 0;
  for (size_t i = width; i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[offset + i]);
  }
  return value;
}

// A cursor over bytes.  A caller that reads a number of elements must compare the number with
// num_left() before it allocates memory for the elements.  Callers throw their own errors.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  size_t size() const { return bytes_.size(); }
  size_t position() const { return position_; }
  size_t num_left() const { return bytes_.size() - position_; }

  // Ends the input at `size` bytes after the cursor.  `size` must be at most num_left().
  void Truncate(size_t size) { bytes_ = bytes_.substr(0, position_ + size); }

  // Returns the next integer, which has `width` bytes; nullopt if fewer bytes are left.
  std::optional<uint64_t> TakeNumber(size_t width) {
    if (num_left() < width) return std::nullopt;
    uint64_t value = LittleEndian(bytes_, position_, width);
    position_ += width;
    return value;
  }
  // If the remaining input begins with `text`, skips `text` and returns true; else returns false.
  bool TakeIf(std::string_view text) {
    if (bytes_.substr(position_, text.size()) != text) return false;
    position_ += text.size();
    return true;
  }
  // Returns the next `size` bytes.  `size` must be at most num_left().
  std::string_view Take(size_t size) {
    std::string_view taken = bytes_.substr(position_, size);
    position_ += size;
    return taken;
  }

 private:
  std::string_view bytes_;
  size_t position_ = 0;
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_BYTE_READER_H_
