// SPDX-License-Identifier: Apache-2.0
// SeededHash: a hash of values with a random seed per process, consistent with AnyEqual.  Hash
// tables inside the runtime use it, so that an attacker cannot choose colliding keys.
// docs/design/hash-flooding.md
#ifndef TVM_FFI_RUNTIME_EXTRA_JSON_SEEDED_HASH_H_
#define TVM_FFI_RUNTIME_EXTRA_JSON_SEEDED_HASH_H_

#include <tvm/ffi/any.h>

#include <cstddef>

namespace tvm::ffi::extra {

struct SeededHash {
  size_t operator()(const Any& value) const;
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_JSON_SEEDED_HASH_H_
