// SPDX-License-Identifier: Apache-2.0
// Hooks with which a type takes part in maps as a key, `__any_hash__` and `__any_equal__`, when
// they are plain function pointers: of two conventions, made into functions that every client can
// call.
#ifndef TVM_FFI_RUNTIME_CORE_KEY_HOOKS_H_
#define TVM_FFI_RUNTIME_CORE_KEY_HOOKS_H_

#include <tvm/ffi/c_api.h>

#include <string_view>

#include "value.h"

namespace tvm::ffi::runtime {

// What the column `name` keeps for `value`: a function in place of a pointer to such a hook, and
// the value itself otherwise.
Value StoredAttr(std::string_view name, const TVMFFIAny& value);

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_KEY_HOOKS_H_
