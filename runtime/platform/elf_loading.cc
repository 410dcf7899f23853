// SPDX-License-Identifier: Apache-2.0
// Loading of ELF libraries: names, the messages of glibc and musl, the definer of an address.
#include <dlfcn.h>
#include <link.h>

#include "platform.h"
#include "posix_loading.h"

namespace tvm::ffi::platform {

const char* const kCudaDriver = "libcuda.so.1";
const char* const kNvtx = "libnvToolsExt.so.1";

std::string FileNameOfLibrary(const std::string& name) { return "lib" + name + ".so"; }

LoadFailure DescribeFailure(const std::string& path, const std::string& message) {
  constexpr std::string_view kUndefined = ": undefined symbol: ";  // glibc: LIBRARY: ...: SYMBOL
  constexpr std::string_view kRelocating = "Error relocating ";    // musl: ... LIBRARY: SYMBOL: ...
  constexpr std::string_view kNotFound = ": symbol not found";
  LoadFailure failure;
  failure.message = message;
  size_t found = message.find(kUndefined);
  size_t end = message.rfind(kNotFound);
  if (found != std::string::npos) {
    size_t begin = found + kUndefined.size();
    failure.missing_symbol = message.substr(begin, message.find_first_of(", \t\n)", begin) - begin);
    failure.library = message.substr(0, found);
  } else if (message.rfind(kRelocating, 0) == 0 && end != std::string::npos) {
    size_t colon = message.rfind(": ", end - 1);
    failure.missing_symbol = message.substr(colon + 2, end - colon - 2);
    failure.library = message.substr(kRelocating.size(), colon - kRelocating.size());
  }
  // The message is about this file, not about a library that it needs, if it begins with the path.
  failure.is_missing_file =
      message.rfind(path + ": cannot open shared object file: No such file", 0) == 0 ||
      message == "Error loading shared library " + path + ": No such file or directory";
  return failure;
}

bool DefinesAddress([[maybe_unused]] void* library, [[maybe_unused]] const void* address) {
#ifdef __GLIBC__  // other C libraries have no dladdr1
  link_map* own = nullptr;
  void* definer = nullptr;
  Dl_info symbol;
  if (dlinfo(library, RTLD_DI_LINKMAP, &own) == 0 &&
      dladdr1(address, &symbol, &definer, RTLD_DL_LINKMAP) != 0) {
    return definer == own;
  }
#endif
  return true;
}

}  // namespace tvm::ffi::platform
