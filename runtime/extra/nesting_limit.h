// SPDX-License-Identifier: Apache-2.0
// How deep values may be nested in JSON text and in JSON graphs.
#ifndef TVM_FFI_RUNTIME_EXTRA_NESTING_LIMIT_H_
#define TVM_FFI_RUNTIME_EXTRA_NESTING_LIMIT_H_

#include <cstddef>

namespace tvm::ffi::extra {

// Nothing here recurses into values, but whoever releases a nested value does: each level takes
// some fifty bytes of stack, and several hundred in a build for debugging.
inline constexpr size_t kMaxNesting = 10000;
inline constexpr char kTooDeepMessage[] = "Nesting deeper than 10000 levels";

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_NESTING_LIMIT_H_
