// SPDX-License-Identifier: Apache-2.0
// How deep values may be nested in JSON text and in JSON graphs.
#ifndef TVM_FFI_RUNTIME_EXTRA_JSON_LIMITS_H_
#define TVM_FFI_RUNTIME_EXTRA_JSON_LIMITS_H_

#include "walk/walk_limits.h"

namespace tvm::ffi::extra {

// Nothing here recurses into values, and releasing nested containers does not either; programs that
// read the values, and binaries with other headers that made some of them, often do.
inline constexpr WalkLimits kJsonLimits{"", 10000, "Nesting deeper than %zu levels"};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_JSON_LIMITS_H_
