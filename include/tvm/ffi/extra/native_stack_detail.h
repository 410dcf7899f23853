// SPDX-License-Identifier: Apache-2.0
// Whether the calling thread's stack is nearly used up.
//
// Structural visits run through hooks and callbacks, so that their depth is on the stack; values
// may be nested deeper than that, and then a visit ends in an error.  The runtime measures; the
// function that does is an attribute of ffi.Object, so that one without it is no failure.
#ifndef TVM_FFI_EXTRA_NATIVE_STACK_DETAIL_H_
#define TVM_FFI_EXTRA_NATIVE_STACK_DETAIL_H_

#include <tvm/ffi/reflection/accessor.h>

namespace tvm {
namespace ffi {
namespace detail {

inline constexpr const char* kNativeStackIsLowAttr = "__native_stack_is_low__";

using FNativeStackIsLow = bool (*)() noexcept;

// Where the runtime does not measure.
inline bool NativeStackIsNeverLow() noexcept { return false; }

TVM_FFI_FAILURE_ inline FNativeStackIsLow FindNativeStackIsLow() {
  const TVMFFIAny* function = FindAttr(FindAttrColumn(kNativeStackIsLowAttr), kTVMFFIObject);
  if (function == nullptr || function->type_index != kTVMFFIOpaquePtr) return NativeStackIsNeverLow;
  return reinterpret_cast<FNativeStackIsLow>(function->v_ptr);
}

// Whether there is no room for another level of recursion and the error that it may end in.
TVM_FFI_HIDDEN inline bool NativeStackIsLow() {
  static FNativeStackIsLow cell;
  FNativeStackIsLow is_low = __atomic_load_n(&cell, __ATOMIC_RELAXED);
  if (TVM_FFI_PREDICT_FALSE(is_low == nullptr)) {
    is_low = FindNativeStackIsLow();
    __atomic_store_n(&cell, is_low, __ATOMIC_RELAXED);
  }
  return is_low();
}

}  // namespace detail
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_NATIVE_STACK_DETAIL_H_
