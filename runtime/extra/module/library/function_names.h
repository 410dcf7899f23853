// SPDX-License-Identifier: Apache-2.0
// Function names derived from `__tvm_ffi_` symbols.
#ifndef TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_FUNCTION_NAMES_H_
#define TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_FUNCTION_NAMES_H_

#include <string>
#include <vector>

namespace tvm::ffi::extra {

// Returns NAME for each symbol `__tvm_ffi_` + prefix + NAME, in alphabetical order.  Symbols with
// metadata or documentation are left out.
std::vector<std::string> FunctionNamesAmong(const std::vector<std::string>& symbols,
                                            const std::string& prefix);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_FUNCTION_NAMES_H_
