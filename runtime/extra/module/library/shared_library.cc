// SPDX-License-Identifier: Apache-2.0
#include <cxxabi.h>
#include <dlfcn.h>
#include <link.h>

#include <cstdlib>

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
    // dlsym would read up to the first NUL only.
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
  // Where the loader does not tell, what it found is taken for the library's own.
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

// Where the C++ compiler's name for a symbol differs from its spelling, both.
std::string NameInWords(const std::string& symbol) {
  int status = 0;
  char* text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  std::string words = "`" + symbol + "`";
  if (status == 0 && text != nullptr) words = "`" + std::string(text) + "` (" + symbol + ")";
  std::free(text);
  return words;
}

// The name in the loader's message; empty when it speaks of something else.
std::string UndefinedSymbolIn(const std::string& reason) {
  constexpr std::string_view kBefore = "undefined symbol: ";
  size_t place = reason.find(kBefore);
  if (place == std::string::npos) return "";
  size_t begin = place + kBefore.size();
  return reason.substr(begin, reason.find_first_of(", \t\n)", begin) - begin);
}

[[noreturn]] void Refuse(const std::string& path, const std::string& reason) {
  TVM_FFI_THROW(InternalError) << "Failed to load dynamic shared library " << path << ": "
                               << reason;
  TVM_FFI_UNREACHABLE();
}

// One sentence about a symbol that nobody provides.
[[noreturn]] void RefuseSymbol(const std::string& path, const std::string& symbol,
                               const std::string& loader_message) {
  std::string file = loader_message.substr(0, loader_message.find(": undefined symbol"));
  TVMFFIVersion version;
  TVMFFIGetVersion(&version);
  std::string reason = file == path ? "it" : file + ", which it links to,";
  reason += " needs " + NameInWords(symbol) + ", which neither this runtime (TVM FFI ABI " +
            std::to_string(version.major) + "." + std::to_string(version.minor) + "." +
            std::to_string(version.patch) + ") nor any library loaded with it provides; ";
  bool is_cpp = symbol.substr(0, 2) == "_Z";
  reason += is_cpp ? "build it with the headers of this runtime, link it to the library that "
                     "defines the symbol, or update the runtime"
                   : "it was probably built for a later ABI: update the runtime, or build it with "
                     "the headers of this one";
  Refuse(path, reason);
}

std::string LoaderMessage() {
  const char* message = dlerror();
  return message == nullptr ? "unknown reason" : message;
}

// Opens the library, unless it certainly needs what nobody provides.
void* Open(const std::string& path) {
  // The system would read up to the first NUL only, and open another file.
  if (path.find('\0') != std::string::npos) Refuse(path, "no file has a NUL in its name");
  // A name without a folder is searched for by the loader; no file is known then.
  LibraryFile file;
  if (path.find('/') != std::string::npos) file = ReadLibraryFile(path);
  if (!file.defect.empty()) Refuse(path, file.defect);
  if (!file.unserved.empty()) {
    // What it links to may define these.  The loader knows, and binds all symbols before it runs
    // any initialiser.  Should another symbol be missing first, nothing is certain, and functions
    // may be missing that are never called.
    if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    std::string message = LoaderMessage(), symbol = UndefinedSymbolIn(message);
    if (IsAbiSymbol(symbol)) RefuseSymbol(path, symbol, message);
  }
  if (void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL)) return handle;
  std::string message = LoaderMessage(), symbol = UndefinedSymbolIn(message);
  if (IsAbiSymbol(symbol)) RefuseSymbol(path, symbol, message);
  Refuse(path, message);
}

}  // namespace

std::unique_ptr<Library> OpenSharedLibrary(const std::string& path) {
  auto library = std::make_unique<SharedLibrary>(Open(path), path);
  WarnOfOtherRuntimes();
  return library;
}

}  // namespace tvm::ffi::extra
