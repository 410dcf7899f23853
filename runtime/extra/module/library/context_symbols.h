// SPDX-License-Identifier: Apache-2.0
// Context symbols: addresses that every library receives when it is loaded, in data slots of the
// same names.  Hosts register them, so that generated code needs no link to the host.
#ifndef TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_CONTEXT_SYMBOLS_H_
#define TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_CONTEXT_SYMBOLS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tvm::ffi::extra {

using SymbolList = std::vector<std::pair<std::string, void*>>;

// Those of now, in the order of registration; a name may occur again, and the last one counts.
std::shared_ptr<const SymbolList> ContextSymbols();

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_CONTEXT_SYMBOLS_H_
