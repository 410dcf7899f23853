// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include "library.h"

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
  std::string Name() const override { return path_; }

 private:
  void* handle_;
  std::string path_;
};

}  // namespace

std::unique_ptr<Library> OpenSharedLibrary(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    TVM_FFI_THROW(InternalError) << "Failed to load dynamic shared library " << path << ": "
                                 << (reason == nullptr ? "unknown reason" : reason);
  }
  return std::make_unique<SharedLibrary>(handle, path);
}

}  // namespace tvm::ffi::extra
