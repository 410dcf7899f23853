// SPDX-License-Identifier: Apache-2.0
#include "windows_text.h"

namespace tvm::ffi::platform {

std::wstring ToWide(std::string_view text) {
  int size = static_cast<int>(text.size());
  int wide_size = MultiByteToWideChar(CP_UTF8, 0, text.data(), size, nullptr, 0);
  std::wstring wide(static_cast<size_t>(wide_size), L'\0');
  MultiByteToWideChar(CP_UTF8, 0, text.data(), size, wide.data(), wide_size);
  return wide;
}

std::string ToUtf8(std::wstring_view text) {
  int size = static_cast<int>(text.size());
  int narrow_size =
      WideCharToMultiByte(CP_UTF8, 0, text.data(), size, nullptr, 0, nullptr, nullptr);
  std::string narrow(static_cast<size_t>(narrow_size), '\0');
  WideCharToMultiByte(CP_UTF8, 0, text.data(), size, narrow.data(), narrow_size, nullptr, nullptr);
  return narrow;
}

std::string PathOfLibrary(HMODULE library) {
  std::wstring path(MAX_PATH, L'\0');
  constexpr size_t kLongestPath = 32768;
  for (;;) {
    DWORD size = GetModuleFileNameW(library, path.data(), static_cast<DWORD>(path.size()));
    if (size < path.size()) return ToUtf8({path.data(), size});
    if (path.size() >= kLongestPath) return "";
    path.resize(2 * path.size());
  }
}

HMODULE LibraryAt(const void* address) noexcept {
  HMODULE library = nullptr;
  constexpr DWORD kFlags =
      GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  bool is_found = GetModuleHandleExW(kFlags, static_cast<const wchar_t*>(address), &library) != 0;
  return is_found ? library : nullptr;
}

}  // namespace tvm::ffi::platform
