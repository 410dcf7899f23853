// SPDX-License-Identifier: Apache-2.0
// Context symbols: named addresses that the loader stores into every library it opens.
//
// A library has a data slot of the symbol's name.  Hosts register the symbols, so that generated
// code can reach the host without linking to it.
#ifndef TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_CONTEXT_SYMBOLS_H_
#define TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_CONTEXT_SYMBOLS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tvm::ffi::extra {

using SymbolList = std::vector<std::pair<std::string, void*>>;

// Returns the registered symbols in registration order.  For a repeated name, the last one counts.
std::shared_ptr<const SymbolList> ContextSymbols();

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_CONTEXT_SYMBOLS_H_
