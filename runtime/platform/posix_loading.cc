// SPDX-License-Identifier: Apache-2.0
// Loading of libraries on POSIX systems, with dlopen.
#include "posix_loading.h"

#include <dlfcn.h>

#include "platform.h"

namespace tvm::ffi::platform {

void* OpenLibrary(const std::string& path, Binding binding, LoadFailure* failure) {
  int mode = binding == Binding::kNow ? RTLD_NOW : RTLD_LAZY;
  if (void* library = dlopen(path.c_str(), mode | RTLD_LOCAL)) return library;
  const char* message = dlerror();
  *failure = DescribeFailure(path, message == nullptr ? "unknown reason" : message);
  return nullptr;
}

void* FindLoadedLibrary(const char* name) {
  return dlopen(FileNameOfLibrary(name).c_str(), RTLD_LAZY | RTLD_NOLOAD);
}

void* FindSymbol(void* library, const char* symbol) { return dlsym(library, symbol); }

void* FindSymbolInProcess(const char* symbol) { return dlsym(RTLD_DEFAULT, symbol); }

}  // namespace tvm::ffi::platform
