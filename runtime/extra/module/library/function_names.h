// SPDX-License-Identifier: Apache-2.0
// The functions that symbols stand for.
#ifndef TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_FUNCTION_NAMES_H_
#define TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_FUNCTION_NAMES_H_

#include <string>
#include <vector>

namespace tvm::ffi::extra {

// NAME of each symbol `__tvm_ffi_` + prefix + NAME, in alphabetical order; without the symbols that
// describe functions.
std::vector<std::string> FunctionNamesAmong(const std::vector<std::string>& symbols,
                                            const std::string& prefix);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_FUNCTION_NAMES_H_
