// SPDX-License-Identifier: Apache-2.0
// ForcedUnwinding: the exception class of a thread that is cancelled or calls pthread_exit.
#ifndef TVM_FFI_RUNTIME_PLATFORM_FORCED_UNWINDING_H_
#define TVM_FFI_RUNTIME_PLATFORM_FORCED_UNWINDING_H_

#include <exception>

#ifdef __GLIBCXX__
#include <bits/cxxabi_forced.h>
#endif

namespace tvm::ffi::platform {

// Code that catches a ForcedUnwinding must rethrow it.  With another C++ library than libstdc++,
// nothing throws this class, because the library does not name its own.
#ifdef __GLIBCXX__
using ForcedUnwinding = __cxxabiv1::__forced_unwind;
#else
class ForcedUnwinding {};
#endif

}  // namespace tvm::ffi::platform

#endif  // TVM_FFI_RUNTIME_PLATFORM_FORCED_UNWINDING_H_
