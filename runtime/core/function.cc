// SPDX-License-Identifier: Apache-2.0
// Function objects with and without a context, and the C functions that create and call them.
#include "function.h"

#include "error.h"
#include "known_functions.h"

namespace tvm::ffi::runtime {
namespace {

struct ClosureObject : FunctionObject {
  using NestsDeeply = void;  // `self` may own another function, and so on
  ~ClosureObject() noexcept(false) {
    if (deleter_of_self != nullptr) deleter_of_self(self);
  }

  void* self = nullptr;
  TVMFFISafeCallType call = nullptr;
  void (*deleter_of_self)(void*) = nullptr;
};

int CallClosure(void* function, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  auto* closure = static_cast<ClosureObject*>(static_cast<TVMFFIObject*>(function));
  return closure->call(closure->self, args, num_args, result);
}

}  // namespace

Ref<FunctionObject> NewFunction(void* self, TVMFFISafeCallType call, void (*deleter)(void*)) {
  if (self == nullptr && deleter == nullptr) {
    // Without a context, store `call` itself as safe_call.  It receives the handle of the function
    // as `self`.
    Ref<FunctionObject> function = NewObject<FunctionObject>(kTVMFFIFunction, 0);
    function->safe_call = call;
    function->cpp_call = nullptr;
    ShowToObservers(function.header(), {});
    return function;
  }
  Ref<ClosureObject> closure = NewObject<ClosureObject>(kTVMFFIFunction, 0);
  closure->safe_call = &CallClosure;
  closure->cpp_call = nullptr;
  closure->self = self;
  closure->call = call;
  closure->deleter_of_self = deleter;
  ShowToObservers(closure.header(), {});
  return Ref<FunctionObject>::Adopt(static_cast<TVMFFIObjectHandle>(closure.release()));
}

Value Call(const Ref<FunctionObject>& function, const TVMFFIAny* args, int32_t num_args) {
  TVMFFIAny result = NoneAny();
  int code = EntryOf(function.get())(function.header(), args, num_args, &result);
  if (code != 0) RaisePending(code);
  return Value::Adopt(result);
}

}  // namespace tvm::ffi::runtime

using namespace tvm::ffi::runtime;

int TVMFFIFunctionCreate(void* self, TVMFFISafeCallType safe_call, void (*deleter)(void* self),
                         TVMFFIObjectHandle* out) {
  return GuardBoundary([&] {
    if (safe_call == nullptr) Raise("ValueError", "TVMFFIFunctionCreate: safe_call is NULL");
    *out = NewFunction(self, safe_call, deleter).release();
  });
}

int TVMFFIFunctionCall(TVMFFIObjectHandle func, TVMFFIAny* args, int32_t num_args,
                       TVMFFIAny* result) {
  auto* function = static_cast<FunctionObject*>(static_cast<TVMFFIObject*>(func));
  return EntryOf(function)(func, args, num_args, result);
}
