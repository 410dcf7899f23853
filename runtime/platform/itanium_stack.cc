// SPDX-License-Identifier: Apache-2.0
// Stack walks with the unwinder of the compiler, where exceptions use it.
#include <unwind.h>

#include "platform.h"

namespace tvm::ffi::platform {
namespace {

struct Walk {
  bool (*visit)(uintptr_t address, void* data) noexcept;
  void* data;
  bool is_first;  // true at the frame of WalkStack itself
};

_Unwind_Reason_Code VisitFrame(_Unwind_Context* context, void* data) {
  auto* walk = static_cast<Walk*>(data);
  if (walk->is_first) {
    walk->is_first = false;
    return _URC_NO_REASON;
  }
  // Any other code ends the walk; this one exists on all processors.
  return walk->visit(_Unwind_GetIP(context), walk->data) ? _URC_NO_REASON : _URC_END_OF_STACK;
}

}  // namespace

// Not inlined, because the walk skips the frame of this function.
[[gnu::noinline]] void WalkStack(bool (*visit)(uintptr_t address, void* data) noexcept,
                                 void* data) noexcept {
  Walk walk{visit, data, true};
  _Unwind_Backtrace(&VisitFrame, &walk);
}

}  // namespace tvm::ffi::platform
