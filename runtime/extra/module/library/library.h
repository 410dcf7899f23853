// SPDX-License-Identifier: Apache-2.0
// Libraries: where a library module finds its symbols.
#ifndef TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_LIBRARY_H_
#define TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_LIBRARY_H_

#include <tvm/ffi/extra/module.h>

#include <memory>
#include <string>
#include <vector>

namespace tvm::ffi::extra {

class Library {
 public:
  virtual ~Library() = default;

  // Address of a symbol; nullptr when there is none.
  virtual void* Find(const std::string& symbol) const = 0;
  // The same, but a symbol of a library that this one links to does not count.
  virtual void* FindOwn(const std::string& symbol) const { return Find(symbol); }
  // Address of the packed function `name`; nullptr when there is none.
  virtual void* FindFunction(const std::string& name) const {
    return Find(symbol::tvm_ffi_symbol_prefix + name);
  }
  // Names for FindFunction that are the library's own, in alphabetical order.
  virtual std::vector<std::string> FunctionNames() const = 0;
  // What messages call it.
  virtual std::string Name() const = 0;
};

// Opens a shared library.  It stays mapped from then on: an object that its code made may outlive
// every module and function, and only the library knows how to delete it.
std::unique_ptr<Library> OpenSharedLibrary(const std::string& path);

// The symbols registered with TVMFFIEnvModRegisterSystemLibSymbol, which are linked into the
// program itself.  Functions `prefix + name` hide those called `name`.
std::unique_ptr<Library> OpenSystemLibrary(const std::string& prefix);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_LIBRARY_H_
