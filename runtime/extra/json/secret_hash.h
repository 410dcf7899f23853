// SPDX-License-Identifier: Apache-2.0
// A hash of values as keys, in the sense of AnyEqual, that no file depends on and nobody can
// predict: for tables of the runtime's own, which other libraries never see.
// docs/design/hash-flooding.md
#ifndef TVM_FFI_RUNTIME_EXTRA_JSON_SECRET_HASH_H_
#define TVM_FFI_RUNTIME_EXTRA_JSON_SECRET_HASH_H_

#include <tvm/ffi/any.h>

#include <cstddef>

namespace tvm::ffi::extra {

struct SecretHash {
  size_t operator()(const Any& value) const;
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_JSON_SECRET_HASH_H_
