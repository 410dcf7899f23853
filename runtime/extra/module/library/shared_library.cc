// SPDX-License-Identifier: Apache-2.0
// Shared libraries opened by the system's loader.
#include <cstdio>
#include <map>
#include <mutex>
#include <utility>

#include "../platform/platform.h"
#include "../platform/probe.h"
#include "module/library/abi_symbols.h"
#include "module/library/function_names.h"
#include "module/library/library.h"
#include "module/library/other_runtimes.h"

namespace tvm::ffi::extra {
namespace {

class SharedLibrary final : public Library {
 public:
  SharedLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}

  void* Find(const std::string& symbol) const override {
    // Reject a name with NUL, because the loader would stop at the NUL and find another symbol.
    if (symbol.find('\0') != std::string::npos) return nullptr;
    return platform::FindSymbol(handle_, symbol.c_str());
  }
  void* FindOwn(const std::string& symbol) const override {
    void* found = Find(symbol);
    return found != nullptr && platform::DefinesAddress(handle_, found) ? found : nullptr;
  }
  std::vector<std::string> FunctionNames() const override {
    return FunctionNamesAmong(platform::ExportedFunctions(handle_), "");
  }
  std::string Name() const override { return path_; }

 private:
  void* handle_;
  std::string path_;
};

// Returns the form of a symbol for error messages.  A mangled C++ name is shown after its demangled
// form.
std::string DisplayName(const std::string& symbol) {
  std::string text = platform::Demangle(symbol.c_str());
  return text == symbol ? "`" + symbol + "`" : "`" + text + "` (" + symbol + ")";
}

[[noreturn]] void ThrowLoadError(const std::string& path, const std::string& reason) {
  TVM_FFI_THROW(InternalError) << "Failed to load dynamic shared library " << path << ": "
                               << reason;
  TVM_FFI_UNREACHABLE();
}

// Returns the words for the library that needs a symbol: "it" for the library with this path.
std::string NeedingLibrary(const std::string& path, const platform::LoadFailure& failure) {
  return failure.library == path ? "it" : failure.library + ", which it links to,";
}

[[noreturn]] void ThrowMissingFile(const std::string& path, const std::string& reason) {
  TVM_FFI_THROW(FileNotFoundError)
      << "Failed to load dynamic shared library " << path << ": " << reason;
  TVM_FFI_UNREACHABLE();
}

// Throws an error that names the missing ABI symbol, which no loaded library defines.
[[noreturn]] void ThrowMissingSymbol(const std::string& path,
                                     const platform::LoadFailure& failure) {
  const std::string& symbol = failure.missing_symbol;
  TVMFFIVersion version;
  TVMFFIGetVersion(&version);
  std::string reason = NeedingLibrary(path, failure);
  reason += " needs " + DisplayName(symbol);
  if (platform::FindSymbolInProcess("TVMFFIGetVersion") == nullptr) {
    // A program that was linked with the static archive.
    ThrowLoadError(path, reason +
                             ", but the program, which contains the runtime, exports no "
                             "symbols; link the program with -rdynamic (in CMake: set its "
                             "property ENABLE_EXPORTS)");
  }
  reason += ", which neither this runtime (TVM FFI ABI " + std::to_string(version.major) + "." +
            std::to_string(version.minor) + "." + std::to_string(version.patch) +
            ") nor any library loaded with it provides; ";
  bool is_cpp = symbol.substr(0, 2) == "_Z";
  reason += is_cpp ? "build it with the headers of this runtime, link it to the library that "
                     "defines the symbol, or update the runtime"
                   : "it was probably built for a later ABI: update the runtime, or build it with "
                     "the headers of this one";
  ThrowLoadError(path, reason);
}

// Warns that a library is opened although a symbol outside the ABI is missing.
void WarnOfMissingSymbol(const std::string& path, const platform::LoadFailure& failure) {
  std::fprintf(stderr,
               "warning: %s is loaded, but %s needs %s, which no library loaded with it defines; "
               "a call of this function ends the process: link the library that defines it\n",
               path.c_str(), NeedingLibrary(path, failure).c_str(),
               DisplayName(failure.missing_symbol).c_str());
}

// The files of the libraries that this process has loaded.
class LoadedFiles {
 public:
  static LoadedFiles& Global() {
    static auto* files = new LoadedFiles();
    return *files;
  }

  // Returns the path by which the loader must be called to load the file that is at `path` now.
  //
  // The loader returns a loaded library for the path by which it was loaded, without a look at the
  // file.  If another file has replaced the library's file, a longer path to the same name lets the
  // loader find the new file.  `status` is the status of the file.
  std::string PathOfPresentFile(const std::string& path, const platform::FileStatus& status) {
    File file(status.volume, status.number);
    std::lock_guard<std::mutex> lock(mutex_);
    // The numbers of a loaded file are not reused, because the mapping of the library keeps it.
    Loaded& last = by_path_.try_emplace(path, Loaded{file, path}).first->second;
    if (last.file != file) {
      size_t name = platform::FileNameIn(last.path);
      last = {file, last.path.substr(0, name) + "./" + last.path.substr(name)};
    }
    return last.path;
  }

  // Returns true if the file belongs to a loaded library and was written to after it was loaded.
  // Writing has then changed the library's code and undone its relocations in this process.
  bool IsOverwritten(const platform::FileStatus& status) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = modified_.find(File(status.volume, status.number));
    return found != modified_.end() && found->second != status.modified;
  }

  void Add(const platform::FileStatus& status) {
    std::lock_guard<std::mutex> lock(mutex_);
    modified_.try_emplace(File(status.volume, status.number), status.modified);
  }

 private:
  using File = std::pair<uint64_t, uint64_t>;
  struct Loaded {
    File file;
    std::string path;
  };
  std::mutex mutex_;
  std::map<std::string, Loaded> by_path_;
  std::map<File, uint64_t> modified_;
};

// Returns true for the functions that compilers call in code compiled with -fsanitize.
bool IsSanitizerSymbol(const std::string& symbol) {
  for (const char* prefix : {"__asan_", "__hwasan_", "__msan_", "__tsan_"}) {
    if (symbol.rfind(prefix, 0) == 0) return true;
  }
  return false;
}

// Opens a library that lacks symbols of the ABI itself: libraries to which it links may define
// them.
//
// With kNow, the loader binds all symbols before it runs an initialiser, and fails if a symbol is
// missing.  If the loader's message names a symbol outside the ABI, this function warns and returns
// NULL, and the library may be opened with kLazy, because it may never call that function.
void* OpenWithSymbols(const std::string& path) {
  platform::LoadFailure failure;
  void* handle = platform::OpenLibrary(path, platform::Binding::kNow, &failure);
  if (handle != nullptr || failure.missing_symbol.empty()) return handle;
  if (IsAbiSymbol(failure.missing_symbol)) ThrowMissingSymbol(path, failure);
  if (IsSanitizerSymbol(failure.missing_symbol)) {
    ThrowLoadError(path, NeedingLibrary(path, failure) +
                             " was compiled with -fsanitize and needs " +
                             DisplayName(failure.missing_symbol) +
                             "; link it with the same option and start the program with the "
                             "sanitizer's runtime in LD_PRELOAD");
  }
  // Warn before the library is opened: an initialiser that calls the function ends the process.
  WarnOfMissingSymbol(path, failure);
  return nullptr;
}

// Opens the library and returns its handle.  If a check of the file fails, throws before any code
// of the library runs.
void* Open(const std::string& given_path) {
  std::string path = given_path;
  // Reject a path with NUL, because the system would stop at the NUL and open another file.
  if (path.find('\0') != std::string::npos) ThrowLoadError(path, "no file has a NUL in its name");
  // A file whose name has no folder is not checked, because the loader searches its path for such a
  // name, so the path of the file is unknown here.
  platform::LibraryCheck check;
  platform::FileStatus status;
  if (platform::FileNameIn(path) > 0) {
    status = platform::StatusOfFile(path);
    if (status.kind == platform::FileKind::kMissing) {
      ThrowMissingFile(path, "the file does not exist");
    } else if (status.kind == platform::FileKind::kFolder) {
      ThrowLoadError(path, "it is a folder, not a file");
    } else if (status.kind == platform::FileKind::kFile) {
      if (LoadedFiles::Global().IsOverwritten(status)) {
        ThrowLoadError(path,
                       "it is loaded, and its file was written to since then, which has damaged "
                       "the code in this process; start the process again, and replace such a file "
                       "by renaming a new one");
      }
      path = LoadedFiles::Global().PathOfPresentFile(path, status);
    }
    check = platform::CheckLibraryFile(path);
  }
  if (!check.defect.empty()) ThrowLoadError(path, check.defect);
  void* handle = check.missing_symbols.empty() ? nullptr : OpenWithSymbols(path);
  platform::LoadFailure failure;
  if (handle == nullptr) handle = platform::OpenLibrary(path, platform::Binding::kLazy, &failure);
  if (handle == nullptr) {
    if (IsAbiSymbol(failure.missing_symbol)) ThrowMissingSymbol(path, failure);
    if (failure.is_missing_file) ThrowMissingFile(path, failure.message);
    ThrowLoadError(path, failure.message);
  }
  if (status.kind == platform::FileKind::kFile) LoadedFiles::Global().Add(status);
  TVM_FFI_PROBE2("load", path.c_str(), handle);
  return handle;
}

}  // namespace

std::unique_ptr<Library> OpenSharedLibrary(const std::string& path) {
  auto library = std::make_unique<SharedLibrary>(Open(path), path);
  WarnOfOtherRuntimes();
  return library;
}

}  // namespace tvm::ffi::extra
