// SPDX-License-Identifier: Apache-2.0
// Reads of a file for the readers of object-file formats.
#ifndef TVM_FFI_RUNTIME_PLATFORM_FILE_READER_H_
#define TVM_FFI_RUNTIME_PLATFORM_FILE_READER_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace tvm::ffi::platform {

// Bounds-checked reads of a file through a small page cache.  The file is not mapped, because
// mapping alone would take longer than the whole load-time check.
class FileReader {
 public:
  explicit FileReader(const std::string& path);
  ~FileReader();
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;

  // The size of the file in bytes; 0 for a path that is not a regular file.
  size_t size() const { return size_; }
  // One sentence with the system's message if a read failed, else "".
  std::string Failure() const;

  // Reads the value at the offset.  Returns false and leaves *out untouched if the file ends within
  // the value.
  template <typename T>
  bool Read(size_t offset, T* out) {
    static_assert(sizeof(T) <= kMaxRead);
    // If the offset is before the page, the difference wraps to a huge value.
    size_t begin = offset - current_->begin;
    if (begin < current_->size && sizeof(T) <= current_->size - begin) {
      std::memcpy(out, current_->bytes + begin, sizeof(T));
      return true;
    }
    return ReadFromPages(offset, out, sizeof(T));
  }

  // Same as Read, but does not load a page into the cache.  Use it for an offset that is far from
  // the offsets of all other reads.
  template <typename T>
  bool ReadUncached(size_t offset, T* out) {
    if (HasPage(offset / Page::kSize * Page::kSize)) return Read(offset, out);
    return Copy(offset, out, sizeof(T)) == sizeof(T);
  }

  // Returns the NUL-terminated string at the offset; "" if the string is longer than any symbol
  // name of the ABI.
  std::string ReadString(size_t offset);

 private:
  // A cached page of the file.  The check of a library needs few pages: the pages of the program
  // headers, the dynamic section, the first symbols and their names.  Larger pages would save some
  // reads, but copying the pages would take longer than the saved reads.
  struct Page {
    static constexpr size_t kSize = 4096;
    size_t begin = 0, size = 0, last_use = 0;
    char bytes[kSize];
  };

  // Returns the bytes from the offset to the end of its page, borrowed until the next call; an
  // empty view if the bytes cannot be read.
  std::string_view RestOfPage(size_t offset);
  static constexpr size_t kMaxRead = 64;
  bool ReadFromPages(size_t offset, void* out, size_t size);
  void SwitchTo(size_t begin);
  bool HasPage(size_t begin) const;
  // Copies bytes of the file to `out` and returns the number of bytes copied.  The number is less
  // than `size` at the end of the file and after a failed read.
  size_t Copy(size_t offset, void* out, size_t size);

  static constexpr size_t kNumPages = 8;
  intptr_t file_ = -1;
  int error_ = 0;
  size_t size_ = 0;
  size_t num_switches_ = 0;
  std::unique_ptr<Page[]> pages_{new Page[kNumPages]};
  // The page of the previous read, because the next read is usually in the same page.
  Page* current_ = pages_.get();
};

}  // namespace tvm::ffi::platform

#endif  // TVM_FFI_RUNTIME_PLATFORM_FILE_READER_H_
