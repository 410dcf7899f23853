// SPDX-License-Identifier: Apache-2.0
// TVM_FFI_EXTRA_CXX_API: export macro of the C++ API in libtvm_ffi.
//
// The headers in this folder declare C++ functions and classes that libtvm_ffi defines and other
// libraries import by their mangled names.
#ifndef TVM_FFI_EXTRA_BASE_H_
#define TVM_FFI_EXTRA_BASE_H_

#include <tvm/ffi/c_api.h>

// Marks functions and classes that libtvm_ffi exports.  cmake/exports.map lists their mangled
// names.
#define TVM_FFI_EXTRA_CXX_API TVM_FFI_DLL

#endif  // TVM_FFI_EXTRA_BASE_H_
