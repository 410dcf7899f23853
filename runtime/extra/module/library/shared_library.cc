// SPDX-License-Identifier: Apache-2.0
// Shared libraries opened with dlopen.
#include <cxxabi.h>
#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

#include "module/library/exported_names.h"
#include "module/library/function_names.h"
#include "module/library/library.h"
#include "module/library/needed_symbols.h"
#include "module/library/other_runtimes.h"

namespace tvm::ffi::extra {
namespace {

class SharedLibrary final : public Library {
 public:
  SharedLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}

  void* Find(const std::string& symbol) const override {
    // Reject a name with NUL, because dlsym would stop at the NUL and find another symbol.
    if (symbol.find('\0') != std::string::npos) return nullptr;
    return dlsym(handle_, symbol.c_str());
  }
  void* FindOwn(const std::string& symbol) const override {
    void* found = Find(symbol);
    return found != nullptr && IsDefinedHere(found) ? found : nullptr;
  }
  std::vector<std::string> FunctionNames() const override {
    return FunctionNamesAmong(ExportedNames(handle_), "");
  }
  std::string Name() const override { return path_; }

 private:
  // Returns true if this library defines the address.  Also returns true if the C library cannot
  // tell which library defines the address.
  bool IsDefinedHere([[maybe_unused]] const void* address) const {
#ifdef __GLIBC__
    link_map* library = nullptr;
    void* definer = nullptr;
    Dl_info symbol;
    if (dlinfo(handle_, RTLD_DI_LINKMAP, &library) == 0 &&
        dladdr1(address, &symbol, &definer, RTLD_DL_LINKMAP) != 0) {
      return definer == library;
    }
#endif
    return true;
  }

  void* handle_;
  std::string path_;
};

// Returns the form of a symbol for error messages.  A mangled C++ name is shown after its demangled
// form.
std::string DisplayName(const std::string& symbol) {
  int status = 0;
  char* text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  std::string name = "`" + symbol + "`";
  if (status == 0 && text != nullptr) name = "`" + std::string(text) + "` (" + symbol + ")";
  std::free(text);
  return name;
}

// Returns the undefined symbol that the loader's message names; "" if the message is about another
// failure.
std::string UndefinedSymbolIn(const std::string& reason) {
  constexpr std::string_view kBefore = "undefined symbol: ";
  size_t found = reason.find(kBefore);
  if (found == std::string::npos) return "";
  size_t begin = found + kBefore.size();
  return reason.substr(begin, reason.find_first_of(", \t\n)", begin) - begin);
}

[[noreturn]] void ThrowLoadError(const std::string& path, const std::string& reason) {
  TVM_FFI_THROW(InternalError) << "Failed to load dynamic shared library " << path << ": "
                               << reason;
  TVM_FFI_UNREACHABLE();
}

// Returns the words for the library that needs a symbol: "it" for the library with this path.
std::string NeedingLibrary(const std::string& path, const std::string& loader_message) {
  std::string file = loader_message.substr(0, loader_message.find(": undefined symbol"));
  return file == path ? "it" : file + ", which it links to,";
}

[[noreturn]] void ThrowMissingFile(const std::string& path, const std::string& reason) {
  TVM_FFI_THROW(FileNotFoundError)
      << "Failed to load dynamic shared library " << path << ": " << reason;
  TVM_FFI_UNREACHABLE();
}

// Throws an error that names the missing ABI symbol, which no loaded library defines.
[[noreturn]] void ThrowMissingSymbol(const std::string& path, const std::string& symbol,
                                     const std::string& loader_message) {
  TVMFFIVersion version;
  TVMFFIGetVersion(&version);
  std::string reason = NeedingLibrary(path, loader_message);
  reason += " needs " + DisplayName(symbol);
  if (dlsym(RTLD_DEFAULT, "TVMFFIGetVersion") == nullptr) {
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

// Warns that a library was opened although a symbol outside the ABI is missing.
void WarnOfMissingSymbol(const std::string& path, const std::string& symbol,
                         const std::string& loader_message) {
  std::fprintf(stderr,
               "warning: %s was loaded, but %s needs %s, which no library loaded with it defines; "
               "a call of this function ends the process: link the library that defines it\n",
               path.c_str(), NeedingLibrary(path, loader_message).c_str(),
               DisplayName(symbol).c_str());
}

std::string LoaderMessage() {
  const char* message = dlerror();
  return message == nullptr ? "unknown reason" : message;
}

// Returns the path by which dlopen must be called to load the file that is at `path` now.
//
// The loader returns a loaded library for the path by which it was loaded, without a look at the
// file.  If another file has replaced the library's file, a longer path to the same name lets the
// loader find the new file.  `status` is the status of the file.
std::string PathOfPresentFile(const std::string& path, const struct stat& status) {
  struct Loaded {
    std::pair<dev_t, ino_t> file;
    std::string path;
  };
  static auto* mutex = new std::mutex();
  static auto* loaded = new std::map<std::string, Loaded>();
  std::pair<dev_t, ino_t> file(status.st_dev, status.st_ino);
  std::lock_guard<std::mutex> lock(*mutex);
  // The inode of a loaded file is not reused, because the mapping of the library keeps it.
  Loaded& last = loaded->try_emplace(path, Loaded{file, path}).first->second;
  if (last.file != file) {
    size_t name = last.path.rfind('/') + 1;
    last = {file, last.path.substr(0, name) + "./" + last.path.substr(name)};
  }
  return last.path;
}

// Opens the library and returns its dlopen handle.  If a check of the file fails, throws before any
// code of the library runs.
void* Open(const std::string& given_path) {
  std::string path = given_path;
  // Reject a path with NUL, because open() would stop at the NUL and open another file.
  if (path.find('\0') != std::string::npos) ThrowLoadError(path, "no file has a NUL in its name");
  // A file whose name has no slash is not checked, because the loader searches its path for such a
  // name, so the path of the file is unknown here.
  LibraryCheck check;
  std::string lazy_message, lazy_symbol;
  if (path.find('/') != std::string::npos) {
    struct stat status;
    if (stat(path.c_str(), &status) != 0) {
      if (errno == ENOENT) ThrowMissingFile(path, "the file does not exist");
    } else if (S_ISDIR(status.st_mode)) {
      ThrowLoadError(path, "it is a folder, not a file");
    } else {
      path = PathOfPresentFile(path, status);
    }
    check = CheckLibraryFile(path);
  }
  if (!check.defect.empty()) ThrowLoadError(path, check.defect);
  if (!check.missing_symbols.empty()) {
    // A library that this library links to may define the missing symbols.  With RTLD_NOW, the
    // loader binds all symbols before it runs an initialiser, and fails if a symbol is missing.  If
    // the loader's message names a symbol outside the ABI, the library is opened lazily below,
    // because it may never call that function.
    if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    lazy_message = LoaderMessage(), lazy_symbol = UndefinedSymbolIn(lazy_message);
    if (IsAbiSymbol(lazy_symbol)) ThrowMissingSymbol(path, lazy_symbol, lazy_message);
  }
  if (void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL)) {
    if (!lazy_symbol.empty()) WarnOfMissingSymbol(path, lazy_symbol, lazy_message);
    return handle;
  }
  std::string message = LoaderMessage(), symbol = UndefinedSymbolIn(message);
  if (IsAbiSymbol(symbol)) ThrowMissingSymbol(path, symbol, message);
  // The message is about this file, not about a library that it needs, if it begins with the path.
  if (message.rfind(path + ": cannot open shared object file: No such file", 0) == 0) {
    ThrowMissingFile(path, message);
  }
  ThrowLoadError(path, message);
}

}  // namespace

std::unique_ptr<Library> OpenSharedLibrary(const std::string& path) {
  auto library = std::make_unique<SharedLibrary>(Open(path), path);
  WarnOfOtherRuntimes();
  return library;
}

}  // namespace tvm::ffi::extra
