// SPDX-License-Identifier: Apache-2.0
// Files on Windows.
#include "platform.h"
#include "windows_text.h"

namespace tvm::ffi::platform {
namespace {

constexpr DWORD kShareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

HANDLE AsHandle(intptr_t file) { return reinterpret_cast<HANDLE>(file); }

}  // namespace

FileStatus StatusOfFile(const std::string& path) {
  FileStatus result;
  // FILE_FLAG_BACKUP_SEMANTICS also opens folders.
  HANDLE file = CreateFileW(ToWide(path).c_str(), 0, kShareAll, nullptr, OPEN_EXISTING,
                            FILE_FLAG_BACKUP_SEMANTICS, nullptr);
  if (file == INVALID_HANDLE_VALUE) {
    DWORD error = GetLastError();
    bool is_missing = error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND ||
                      error == ERROR_INVALID_NAME;
    if (is_missing) result.kind = FileKind::kMissing;
    return result;
  }
  BY_HANDLE_FILE_INFORMATION status;
  if (GetFileInformationByHandle(file, &status)) {
    bool is_folder = (status.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
    result.kind = is_folder ? FileKind::kFolder : FileKind::kFile;
    result.volume = status.dwVolumeSerialNumber;
    result.number = uint64_t{status.nFileIndexHigh} << 32 | status.nFileIndexLow;
    const FILETIME& modified = status.ftLastWriteTime;
    result.modified = uint64_t{modified.dwHighDateTime} << 32 | modified.dwLowDateTime;
  }
  CloseHandle(file);
  return result;
}

// A drive without a folder, as in `C:name`, counts as a folder.
size_t FileNameIn(std::string_view path) noexcept { return path.find_last_of("/\\:") + 1; }

intptr_t OpenFile(const std::string& path, size_t* size) {
  *size = 0;
  HANDLE file = CreateFileW(ToWide(path).c_str(), GENERIC_READ, kShareAll, nullptr, OPEN_EXISTING,
                            FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) return -1;
  LARGE_INTEGER file_size;
  bool is_file = GetFileType(file) == FILE_TYPE_DISK && GetFileSizeEx(file, &file_size);
  if (is_file) *size = static_cast<size_t>(file_size.QuadPart);
  return reinterpret_cast<intptr_t>(file);
}

void CloseFile(intptr_t file) noexcept { CloseHandle(AsHandle(file)); }

size_t ReadFile(intptr_t file, size_t offset, void* out, size_t size, int* error) noexcept {
  size_t copied = 0;
  while (copied < size) {
    constexpr size_t kMaxRead = size_t{1} << 30;  // a DWORD has the size of one read
    size_t left = size - copied;
    OVERLAPPED position = {};
    position.Offset = static_cast<DWORD>(offset + copied);
    position.OffsetHigh = static_cast<DWORD>(uint64_t{offset + copied} >> 32);
    DWORD more = 0;
    if (!::ReadFile(AsHandle(file), static_cast<char*>(out) + copied,
                    static_cast<DWORD>(left < kMaxRead ? left : kMaxRead), &more, &position)) {
      DWORD code = GetLastError();
      if (code != ERROR_HANDLE_EOF) *error = static_cast<int>(code);
      break;
    }
    if (more == 0) break;
    copied += more;
  }
  return copied;
}

intptr_t CreateNewFile(const std::string& path, bool replaces, int* error) {
  HANDLE file = CreateFileW(ToWide(path).c_str(), GENERIC_READ | GENERIC_WRITE, kShareAll, nullptr,
                            replaces ? CREATE_ALWAYS : CREATE_NEW, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) *error = static_cast<int>(GetLastError());
  return reinterpret_cast<intptr_t>(file);
}

void* ExtendMapped(intptr_t file, size_t offset, size_t size, int* error) {
  uint64_t begin = offset, end = begin + size;
  HANDLE mapping =
      CreateFileMappingW(AsHandle(file), nullptr, PAGE_READWRITE, static_cast<DWORD>(end >> 32),
                         static_cast<DWORD>(end), nullptr);
  void* memory = nullptr;
  if (mapping != nullptr) {
    memory = MapViewOfFile(mapping, FILE_MAP_WRITE, static_cast<DWORD>(begin >> 32),
                           static_cast<DWORD>(begin), size);
  }
  if (memory == nullptr) *error = static_cast<int>(GetLastError());
  if (mapping != nullptr) CloseHandle(mapping);
  return memory;
}

bool WriteFile(intptr_t file, size_t offset, const void* bytes, size_t size, int* error) noexcept {
  auto* next = static_cast<const char*>(bytes);
  while (size > 0) {
    constexpr size_t kMaxWrite = size_t{1} << 30;  // a DWORD has the size of one write
    OVERLAPPED position = {};
    position.Offset = static_cast<DWORD>(offset);
    position.OffsetHigh = static_cast<DWORD>(uint64_t{offset} >> 32);
    DWORD count = 0;
    if (!::WriteFile(AsHandle(file), next, static_cast<DWORD>(size < kMaxWrite ? size : kMaxWrite),
                     &count, &position)) {
      *error = static_cast<int>(GetLastError());
      return false;
    }
    next += count;
    offset += count;
    size -= count;
  }
  return true;
}

void UnmapFile(void* memory, size_t /*size*/) noexcept { UnmapViewOfFile(memory); }

int64_t ProcessNumber() noexcept { return static_cast<int64_t>(GetCurrentProcessId()); }

// Processes do not fork.
void CallInForkedChild(void (* /*callback*/)()) {}
void LockDuringForks(void (* /*lock*/)(), void (* /*unlock*/)(), void (* /*unlock_in_child*/)()) {}

}  // namespace tvm::ffi::platform
