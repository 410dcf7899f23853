// SPDX-License-Identifier: Apache-2.0
// Key hooks: converts `__any_hash__` and `__any_equal__` hooks of either calling convention, which
// are registered as function pointers, to functions that every client can call.
#ifndef TVM_FFI_RUNTIME_CORE_KEY_HOOKS_H_
#define TVM_FFI_RUNTIME_CORE_KEY_HOOKS_H_

#include <tvm/ffi/c_api.h>

#include <string_view>

#include "value.h"

namespace tvm::ffi::runtime {

// Returns the value to store in the attribute column `name`: a function if `value` is a pointer to
// a key hook, else the value itself.
Value AttrToStore(std::string_view name, const TVMFFIAny& value);

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_KEY_HOOKS_H_
