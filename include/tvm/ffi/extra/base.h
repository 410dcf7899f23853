// SPDX-License-Identifier: Apache-2.0
// What the headers in this folder have in common: parts of them are compiled into libtvm_ffi, under
// C++ names that other libraries import.
#ifndef TVM_FFI_EXTRA_BASE_H_
#define TVM_FFI_EXTRA_BASE_H_

#include <tvm/ffi/c_api.h>

// Marks those parts.  cmake/exports.map lists their mangled names.
#define TVM_FFI_EXTRA_CXX_API TVM_FFI_DLL

#endif  // TVM_FFI_EXTRA_BASE_H_
