// SPDX-License-Identifier: Apache-2.0
// Depth limit of JSON text and JSON graphs.
#ifndef TVM_FFI_RUNTIME_EXTRA_JSON_LIMITS_H_
#define TVM_FFI_RUNTIME_EXTRA_JSON_LIMITS_H_

#include "walk/walk_limits.h"

namespace tvm::ffi::extra {

// The depth limit of JSON values is lower than kMaxDepth.  The JSON code and the release of nested
// containers do not recurse, but client code that reads or releases the values often does.
inline constexpr WalkLimits kJsonLimits{"", 10000,
                                        "the JSON value is nested deeper than %zu levels"};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_JSON_LIMITS_H_
