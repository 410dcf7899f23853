// SPDX-License-Identifier: Apache-2.0
// CPU features of the processor on which the process runs.
#ifndef TVM_FFI_RUNTIME_EXTRA_DISPATCH_CPU_FEATURES_H_
#define TVM_FFI_RUNTIME_EXTRA_DISPATCH_CPU_FEATURES_H_

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/string.h>

namespace tvm::ffi::extra::dispatch {

// Returns the names of the features that processor and system support, in GCC's spelling, such as
// "avx2"; empty for processors other than x86-64.
Array<String> CpuFeatures();

}  // namespace tvm::ffi::extra::dispatch

#endif  // TVM_FFI_RUNTIME_EXTRA_DISPATCH_CPU_FEATURES_H_
