// SPDX-License-Identifier: Apache-2.0
// ForcedUnwinding: the exception class of a thread that is cancelled or calls pthread_exit.
#ifndef TVM_FFI_RUNTIME_PLATFORM_FORCED_UNWINDING_H_
#define TVM_FFI_RUNTIME_PLATFORM_FORCED_UNWINDING_H_

#include <exception>

#ifdef __GLIBCXX__
#include <bits/cxxabi_forced.h>
#endif

namespace tvm::ffi::platform {

// Code that catches a ForcedUnwinding must rethrow it.  Other C++ libraries than libstdc++ do not
// name the class; nothing throws the class that stands for it here.
#ifdef __GLIBCXX__
using ForcedUnwinding = __cxxabiv1::__forced_unwind;
#else
class ForcedUnwinding {};
#endif

}  // namespace tvm::ffi::platform

#endif  // TVM_FFI_RUNTIME_PLATFORM_FORCED_UNWINDING_H_
