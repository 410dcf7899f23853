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

  // Returns the address of a symbol, or nullptr if the library lacks it.
  virtual void* Find(const std::string& symbol) const = 0;
  // Same as Find, but ignores symbols that are defined in the libraries this library links to.
  virtual void* FindOwn(const std::string& symbol) const { return Find(symbol); }
  // Returns the address of the packed function `name`, or nullptr if the library lacks it.
  virtual void* FindFunction(const std::string& name) const {
    return Find(symbol::tvm_ffi_symbol_prefix + name);
  }
  // Returns the names of the functions that the library itself defines, in alphabetical order.
  virtual std::vector<std::string> FunctionNames() const = 0;
  // Returns the name of the library that error messages show.
  virtual std::string Name() const = 0;
};

// Opens a shared library.  The library is never unmapped, because objects that it created may
// outlive all of its modules and functions, and their deleters are in the library.
// docs/design/library-lifetime.md
std::unique_ptr<Library> OpenSharedLibrary(const std::string& path);

// Opens the system library: the symbols that are linked into the program and registered with
// TVMFFIEnvModRegisterSystemLibSymbol.  If the symbol `prefix + name` exists, it hides the symbol
// `name`.
std::unique_ptr<Library> OpenSystemLibrary(const std::string& prefix);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_LIBRARY_H_
