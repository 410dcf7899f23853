// SPDX-License-Identifier: Apache-2.0
// Names of symbols that belong to the ABI.
#ifndef TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_ABI_SYMBOLS_H_
#define TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_ABI_SYMBOLS_H_

#include <string_view>

namespace tvm::ffi::extra {

// Returns true for a symbol of the ABI: a C function with the prefix `TVMFFI`, or a C++ name in the
// namespace tvm::ffi.
bool IsAbiSymbol(std::string_view name);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_ABI_SYMBOLS_H_
