// SPDX-License-Identifier: Apache-2.0
// Context symbols: addresses that every library receives when it is loaded, in data slots of the
// same names.  Hosts register them, so that generated code needs no link to the host.
#ifndef TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_CONTEXT_SYMBOLS_H_
#define TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_CONTEXT_SYMBOLS_H_

#include <string>
#include <utility>
#include <vector>

namespace tvm::ffi::extra {

// A copy, in the order of registration; a name may occur again, and the last one counts.
std::vector<std::pair<std::string, void*>> ContextSymbols();

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_CONTEXT_SYMBOLS_H_
