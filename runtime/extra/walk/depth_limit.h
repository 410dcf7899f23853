// SPDX-License-Identifier: Apache-2.0
// How deep values may be nested in JSON text and in JSON graphs.
#ifndef TVM_FFI_RUNTIME_EXTRA_WALK_DEPTH_LIMIT_H_
#define TVM_FFI_RUNTIME_EXTRA_WALK_DEPTH_LIMIT_H_

#include <cstddef>

namespace tvm::ffi::extra {

// Nothing here recurses into values, and releasing nested containers does not either; programs that
// read the values, and binaries with other headers that made some of them, often do.
inline constexpr size_t kMaxNesting = 10000;
inline constexpr char kTooDeepMessage[] = "Nesting deeper than 10000 levels";

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_WALK_DEPTH_LIMIT_H_
