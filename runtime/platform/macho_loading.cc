// SPDX-License-Identifier: Apache-2.0
// Loaded Mach-O libraries, and the loader of macOS, dyld.
#include <dlfcn.h>
#include <mach-o/dyld.h>

#include <cstdio>
#include <cstring>
#include <mutex>

#include "macho_image.h"
#include "platform.h"
#include "posix_loading.h"

namespace tvm::ffi::platform {
namespace {

// Returns the handle of the loaded library at this path; null if no library has the path.
void* HandleOf(const char* path) {
  void* handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  if (handle != nullptr) dlclose(handle);  // the library stays loaded: its other handle is open
  return handle;
}

// Returns the start of the library with this handle; null if it is not loaded.
const void* StartOf(void* library) {
  for (uint32_t i = 0; i < _dyld_image_count(); ++i) {
    const char* path = _dyld_get_image_name(i);
    if (path != nullptr && HandleOf(path) == library) return _dyld_get_image_header(i);
  }
  return nullptr;
}

bool IsLoader(const void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr &&
         std::strcmp(info.dli_fname, "/usr/lib/dyld") == 0;
}

// State of the stack walk, which starts at the innermost frame and ends at the first frame of the
// loader.  The last frame before the loader belongs to the static initialiser.
struct Walk {
  uintptr_t previous = 0;
  uintptr_t initialiser = 0;
};

bool VisitFrame(uintptr_t address, void* data) noexcept {
  auto* walk = static_cast<Walk*>(data);
  if (IsLoader(reinterpret_cast<const void*>(address))) {
    walk->initialiser = walk->previous;
    return false;
  }
  walk->previous = address;
  return true;
}

const char* FileName(const char* path) { return path + FileNameIn(path); }

}  // namespace

const char* const kCudaDriver = "libcuda.dylib";
const char* const kNvtx = "libnvToolsExt.dylib";

std::string FileNameOfLibrary(const std::string& name) { return "lib" + name + ".dylib"; }

LoadFailure DescribeFailure(const std::string& path, const std::string& message) {
  LoadFailure failure;
  failure.message = message;
  // ... Symbol not found: _NAME ... Referenced from: <UUID> LIBRARY ..., or
  // ... symbol not found in flat namespace '_NAME'
  for (std::string_view before : {"Symbol not found: ", "symbol not found in flat namespace '"}) {
    size_t found = message.find(before);
    if (found == std::string::npos) continue;
    size_t begin = found + before.size();
    if (message.compare(begin, 1, "_") == 0) ++begin;  // the underscore before every C name
    failure.missing_symbol =
        message.substr(begin, message.find_first_of("', \t\n)", begin) - begin);
    failure.library = path;
  }
  failure.is_missing_file = message.find("'" + path + "' (no such file)") != std::string::npos;
  return failure;
}

bool DefinesAddress(void* library, const void* address) {
  Dl_info info;
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return true;
  return HandleOf(info.dli_fname) == library;
}

std::vector<std::string> ExportedFunctions(void* library) {
  std::vector<std::string> names;
  const void* start = StartOf(library);
  if (start == nullptr) return names;
  MachoImage(start).ForEachExportedFunction([&](const char* name) { names.emplace_back(name); });
  return names;
}

std::string_view SymbolBytes(const void* address, const char* /*symbol*/) {
  auto first = reinterpret_cast<uintptr_t>(address);
  const void* start = LibraryStartAt(address);
  size_t size = start == nullptr ? 0 : MachoImage(start).BytesFrom(first);
  return {static_cast<const char*>(address), size > 0 ? size : static_cast<size_t>(~first)};
}

const void* LibraryBeingInitialised() noexcept {
  Walk walk;
  WalkStack(&VisitFrame, &walk);
  if (walk.initialiser == 0) return nullptr;
  // Look up the byte before the return address, which is in the call instruction.
  const void* start = LibraryStartAt(reinterpret_cast<const void*>(walk.initialiser - 1));
  // dyld also calls the main function of the program, the first image.
  return start == _dyld_get_image_header(0) ? nullptr : start;
}

bool FindOtherRuntime(char* path, size_t size) noexcept {
  static std::mutex mutex;
  static uint32_t num_examined = 0;  // dyld appends new images
  std::unique_lock<std::mutex> lock(mutex, std::try_to_lock);
  if (!lock.owns_lock()) return false;  // another thread is searching; the next load searches again
  Dl_info own;
  if (dladdr(reinterpret_cast<const void*>(&FindOtherRuntime), &own) == 0) return false;
  for (; num_examined < _dyld_image_count(); ++num_examined) {
    const char* name = _dyld_get_image_name(num_examined);
    bool is_other = name != nullptr && _dyld_get_image_header(num_examined) != own.dli_fbase &&
                    std::strcmp(FileName(name), "libtvm_ffi.dylib") == 0;
    if (!is_other) continue;
    std::snprintf(path, size, "%s", name);
    ++num_examined;
    return true;
  }
  return false;
}

}  // namespace tvm::ffi::platform
