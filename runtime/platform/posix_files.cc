// SPDX-License-Identifier: Apache-2.0
// Files on POSIX systems.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "platform.h"

namespace tvm::ffi::platform {

FileStatus StatusOfFile(const std::string& path) {
  FileStatus result;
  struct stat status;
  if (stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) result.kind = FileKind::kMissing;
    return result;
  }
  result.kind = S_ISDIR(status.st_mode) ? FileKind::kFolder : FileKind::kFile;
  result.volume = static_cast<uint64_t>(status.st_dev);
  result.number = static_cast<uint64_t>(status.st_ino);
#if defined(__APPLE__)
  const struct timespec& modified = status.st_mtimespec;
#else
  const struct timespec& modified = status.st_mtim;
#endif
  result.modified =
      static_cast<uint64_t>(modified.tv_sec) * 1000000000 + static_cast<uint64_t>(modified.tv_nsec);
  return result;
}

size_t FileNameIn(std::string_view path) noexcept { return path.rfind('/') + 1; }

intptr_t OpenFile(const std::string& path, size_t* size) {
  *size = 0;
  // O_NONBLOCK, because opening a FIFO must not wait for a writer.
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status;
  bool is_file = file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  if (is_file) *size = static_cast<size_t>(status.st_size);
  return file;
}

void CloseFile(intptr_t file) noexcept { close(static_cast<int>(file)); }

size_t ReadFile(intptr_t file, size_t offset, void* out, size_t size, int* error) noexcept {
  size_t copied = 0;
  // Read in a loop, because some file systems return only a few bytes per read.
  while (copied < size) {
    ssize_t more = pread(static_cast<int>(file), static_cast<char*>(out) + copied, size - copied,
                         static_cast<off_t>(offset + copied));
    if (more == 0) break;  // the file was truncated after fstat returned its size
    if (more > 0) {
      copied += static_cast<size_t>(more);
    } else if (errno != EINTR) {
      *error = errno;
      break;
    }
  }
  return copied;
}

}  // namespace tvm::ffi::platform
