// SPDX-License-Identifier: Apache-2.0
// Function objects: two call pointers behind the object header.
#ifndef TVM_FFI_RUNTIME_CORE_FUNCTION_H_
#define TVM_FFI_RUNTIME_CORE_FUNCTION_H_

#include <tvm/ffi/c_api.h>

#include <initializer_list>

#include "object.h"
#include "value.h"

namespace tvm::ffi::runtime {

// cpp_call stays null: clients then use safe_call, which is always correct.
struct FunctionObject : TVMFFIObject, TVMFFIFunctionCell {};

// A function that calls `call` with `self` as first argument; `deleter(self)`, when not null, runs
// as the function dies.
Ref<FunctionObject> NewFunction(void* self, TVMFFISafeCallType call, void (*deleter)(void*));

// Calls with borrowed arguments; throws what the callee raised.
Value Call(const Ref<FunctionObject>& function, const TVMFFIAny* args, int32_t num_args);

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_FUNCTION_H_
