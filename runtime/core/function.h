// SPDX-License-Identifier: Apache-2.0
// Function objects: two call pointers after the object header.
#ifndef TVM_FFI_RUNTIME_CORE_FUNCTION_H_
#define TVM_FFI_RUNTIME_CORE_FUNCTION_H_

#include <tvm/ffi/c_api.h>

#include <initializer_list>

#include "object.h"
#include "value.h"

namespace tvm::ffi::runtime {

// An ffi.Function.  The field cpp_call stays null, so that clients call safe_call.
struct FunctionObject : TVMFFIObject, TVMFFIFunctionCell {};

// Returns the C entry of a function.  Another thread may replace the entry (observe.cc), so it is
// read once.
inline TVMFFISafeCallType EntryOf(const FunctionObject* function) {
  return __atomic_load_n(&function->safe_call, __ATOMIC_RELAXED);
}

// Returns a new function that calls `call` with `self` as the first argument.  When the function
// is destroyed, it calls `deleter(self)` unless `deleter` is null.
Ref<FunctionObject> NewFunction(void* self, TVMFFISafeCallType call, void (*deleter)(void*));

// Calls the function with borrowed arguments; throws the error that the callee left pending.
Value Call(const Ref<FunctionObject>& function, const TVMFFIAny* args, int32_t num_args);

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_FUNCTION_H_
