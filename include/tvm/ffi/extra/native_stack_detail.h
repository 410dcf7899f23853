// SPDX-License-Identifier: Apache-2.0
// Stack overflow check for recursive structural visits.
//
// Structural visits call hooks and callbacks recursively, so values that are nested too deep could
// overflow the stack.  Instead, a visit fails when the calling thread's stack is nearly full.  The
// runtime provides the check as an attribute of ffi.Object; a runtime without the attribute has no
// limit.
#ifndef TVM_FFI_EXTRA_NATIVE_STACK_DETAIL_H_
#define TVM_FFI_EXTRA_NATIVE_STACK_DETAIL_H_

#include <tvm/ffi/reflection/accessor.h>

namespace tvm {
namespace ffi {
namespace detail {

inline constexpr const char* kNativeStackIsLowAttr = "__native_stack_is_low__";

using FNativeStackIsLow = bool (*)() noexcept;

// Returns false, so that the stack never counts as low.  Used if the runtime has no function that
// checks the stack.
inline bool NativeStackIsNeverLow() noexcept { return false; }

TVM_FFI_FAILURE_ inline FNativeStackIsLow FindNativeStackIsLow() {
  const TVMFFIAny* function = FindAttr(FindAttrColumn(kNativeStackIsLowAttr), kTVMFFIObject);
  if (function == nullptr || function->type_index != kTVMFFIOpaquePtr) return NativeStackIsNeverLow;
  return reinterpret_cast<FNativeStackIsLow>(function->v_ptr);
}

// Returns true if the unused part of the calling thread's stack is too small for another level of
// recursion and an error message.
TVM_FFI_HIDDEN_ inline bool NativeStackIsLow() {
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
