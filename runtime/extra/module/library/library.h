// SPDX-License-Identifier: Apache-2.0
// Library interface: symbol lookup for library modules.
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

  // Returns the address of a symbol, or nullptr if there is no such symbol.
  virtual void* Find(const std::string& symbol) const = 0;
  // Same as Find, but ignores symbols of the libraries that this one links to.
  virtual void* FindOwn(const std::string& symbol) const { return Find(symbol); }
  // Returns the address of the packed function `name`, or nullptr if there is no such function.
  virtual void* FindFunction(const std::string& name) const {
    return Find(symbol::tvm_ffi_symbol_prefix + name);
  }
  // Returns the names of the functions that the library itself defines, in alphabetical order.
  virtual std::vector<std::string> FunctionNames() const = 0;
  // Returns the name of the library for error messages.
  virtual std::string Name() const = 0;
};

// Opens a shared library, which is never unmapped: objects that it created may outlive all of its
// modules and functions, and their deleters are in the library.  docs/design/library-lifetime.md
std::unique_ptr<Library> OpenSharedLibrary(const std::string& path);

// Opens the symbols that TVMFFIEnvModRegisterSystemLibSymbol registered; they are linked into the
// program.  A function `prefix + name` hides a function `name`.
std::unique_ptr<Library> OpenSystemLibrary(const std::string& prefix);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_LIBRARY_H_
