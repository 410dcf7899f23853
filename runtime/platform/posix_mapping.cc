// SPDX-License-Identifier: Apache-2.0
// Mapped files, process numbers and forks on POSIX systems.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "platform.h"

namespace tvm::ffi::platform {
namespace {

// Makes the file longer, with disk space for all its bytes; returns the system's error code or 0.
int Extend(int file, off_t offset, off_t size) {
#ifdef __APPLE__
  fstore_t space = {F_ALLOCATEALL, F_PEOFPOSMODE, 0, size, 0};
  if (fcntl(file, F_PREALLOCATE, &space) != 0) return errno;
#else
  int error;
  do {
    error = posix_fallocate(file, offset, size);
  } while (error == EINTR);
  // File systems that cannot reserve space.
  if (error != EOPNOTSUPP && error != EINVAL) return error;
#endif
  return ftruncate(file, offset + size) == 0 ? 0 : errno;
}

}  // namespace

intptr_t CreateNewFile(const std::string& path, bool replaces, int* error) {
  int flags = O_RDWR | O_CREAT | O_CLOEXEC | (replaces ? O_TRUNC : O_EXCL);
  int file = open(path.c_str(), flags, 0666);
  if (file < 0) *error = errno;
  return file;
}

void* ExtendMapped(intptr_t file, size_t offset, size_t size, int* error) {
  auto descriptor = static_cast<int>(file);
  *error = Extend(descriptor, static_cast<off_t>(offset), static_cast<off_t>(size));
  if (*error != 0) return nullptr;
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor,
                      static_cast<off_t>(offset));
  if (memory != MAP_FAILED) return memory;
  *error = errno;
  return nullptr;
}

bool WriteFile(intptr_t file, size_t offset, const void* bytes, size_t size, int* error) noexcept {
  auto* next = static_cast<const char*>(bytes);
  while (size > 0) {
    ssize_t count = pwrite(static_cast<int>(file), next, size, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      *error = count < 0 ? errno : ENOSPC;
      return false;
    }
    next += count;
    offset += static_cast<size_t>(count);
    size -= static_cast<size_t>(count);
  }
  return true;
}

void UnmapFile(void* memory, size_t size) noexcept { munmap(memory, size); }

int64_t ProcessNumber() noexcept { return getpid(); }

void CallInForkedChild(void (*callback)()) { pthread_atfork(nullptr, nullptr, callback); }
void LockDuringForks(void (*lock)(), void (*unlock)(), void (*unlock_in_child)()) {
  pthread_atfork(lock, unlock, unlock_in_child);
}

}  // namespace tvm::ffi::platform
