// SPDX-License-Identifier: Apache-2.0
// Context symbols: named addresses that the runtime stores into every library that it opens.
//
// A library that needs an address defines a data symbol with its name.  Hosts register the
// addresses, so that generated code can reach the host without linking to it.
#ifndef TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_CONTEXT_SYMBOLS_H_
#define TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_CONTEXT_SYMBOLS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tvm::ffi::extra {

using SymbolList = std::vector<std::pair<std::string, void*>>;

// Returns the registered context symbols in registration order.  If a name occurs several times,
// its last address counts.
std::shared_ptr<const SymbolList> ContextSymbols();

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_CONTEXT_SYMBOLS_H_
