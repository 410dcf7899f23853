// SPDX-License-Identifier: Apache-2.0
// Loading of libraries on Windows.
#include "windows_text.h"
// The functions for processes in kernel32, which every program links.
#define PSAPI_VERSION 2
#include <psapi.h>

#include <cstdio>
#include <mutex>

#include "pe_image.h"
#include "platform.h"

namespace tvm::ffi::platform {
namespace {

std::string TextOfError(DWORD error) {
  constexpr DWORD kFlags = FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS;
  wchar_t buffer[512];
  DWORD size = FormatMessageW(kFlags, nullptr, error, 0, buffer, std::size(buffer), nullptr);
  while (size > 0 && (buffer[size - 1] == L'\n' || buffer[size - 1] == L'\r')) --size;
  if (size == 0) return "Windows error " + std::to_string(error);
  return ToUtf8({buffer, size});
}

// Returns an absolute path with backslashes, as LOAD_WITH_ALTERED_SEARCH_PATH needs.
std::wstring AbsolutePath(const std::wstring& path) {
  DWORD size = GetFullPathNameW(path.c_str(), 0, nullptr, nullptr);
  std::wstring full(size, L'\0');
  full.resize(GetFullPathNameW(path.c_str(), size, full.data(), nullptr));
  return full.empty() ? path : full;
}

std::vector<HMODULE> LoadedLibraries() {
  std::vector<HMODULE> libraries(256);
  for (;;) {
    auto bytes = static_cast<DWORD>(libraries.size() * sizeof(HMODULE));
    DWORD needed = 0;
    if (!EnumProcessModules(GetCurrentProcess(), libraries.data(), bytes, &needed)) return {};
    libraries.resize(needed / sizeof(HMODULE));
    if (needed <= bytes) return libraries;
  }
}

std::string_view FileName(const std::string& path) {
  return std::string_view(path).substr(FileNameIn(path));
}

HMODULE AsModule(void* library) { return static_cast<HMODULE>(library); }

void* AddressOf(HMODULE library, const char* symbol) {
  return reinterpret_cast<void*>(GetProcAddress(library, symbol));
}

}  // namespace

const char* const kCudaDriver = "nvcuda.dll";
const char* const kNvtx = "nvToolsExt64_1.dll";

// Windows binds all symbols of a library when it loads the library.
void* OpenLibrary(const std::string& path, Binding /*binding*/, LoadFailure* failure) {
  std::wstring wide = ToWide(path);
  bool has_folder = FileNameIn(path) > 0;
  // The flag makes the loader search the library's own folder for the libraries that it needs.
  HMODULE library = has_folder ? LoadLibraryExW(AbsolutePath(wide).c_str(), nullptr,
                                                LOAD_WITH_ALTERED_SEARCH_PATH)
                               : LoadLibraryExW(wide.c_str(), nullptr, 0);
  if (library != nullptr) return library;
  DWORD error = GetLastError();
  failure->message = TextOfError(error);
  bool is_missing = error == ERROR_MOD_NOT_FOUND || error == ERROR_FILE_NOT_FOUND;
  failure->is_missing_file = is_missing && !has_folder;
  if (is_missing && has_folder) failure->message += " The file needs a library that is missing.";
  return nullptr;
}

void* FindLoadedLibrary(const char* name) {
  std::wstring wide = ToWide(name);
  HMODULE library = GetModuleHandleW((wide + L".dll").c_str());
  return library != nullptr ? library : GetModuleHandleW((L"lib" + wide + L".dll").c_str());
}

void* FindSymbol(void* library, const char* symbol) { return AddressOf(AsModule(library), symbol); }

void* FindSymbolInProcess(const char* symbol) {
  for (HMODULE library : LoadedLibraries()) {
    if (void* address = AddressOf(library, symbol)) return address;
  }
  return nullptr;
}

bool DefinesAddress(void* library, const void* address) {
  return LibraryAt(address) == AsModule(library);
}

std::vector<std::string> ExportedFunctions(void* library) {
  std::vector<std::string> names;
  ForEachExport(AsModule(library),
                [&](const char* name, const char*) { names.emplace_back(name); });
  return names;
}

bool FindOtherRuntime(char* path, size_t size) noexcept try {
  static std::mutex mutex;
  static std::vector<HMODULE> reported;
  std::unique_lock<std::mutex> lock(mutex, std::try_to_lock);
  if (!lock.owns_lock()) return false;  // another thread is searching; the next load searches again
  HMODULE own = LibraryAt(reinterpret_cast<const void*>(&FindOtherRuntime));
  for (HMODULE library : LoadedLibraries()) {
    if (library == own || AddressOf(library, "TVMFFIGetVersion") == nullptr) continue;
    std::string other = PathOfLibrary(library);
    bool is_runtime = FileName(other) == "tvm_ffi.dll" || FileName(other) == "libtvm_ffi.dll";
    bool is_known = false;
    for (HMODULE known : reported) is_known = is_known || known == library;
    if (!is_runtime || is_known) continue;
    reported.push_back(library);
    std::snprintf(path, size, "%s", other.c_str());
    return true;
  }
  return false;
} catch (const std::exception&) {
  return false;  // out of memory: no warning
}

}  // namespace tvm::ffi::platform
