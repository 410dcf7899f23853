// SPDX-License-Identifier: Apache-2.0
// Systems on which this runtime does not protect memory.
#include "platform.h"

namespace tvm::ffi::platform {

bool VisitWritableMemory(size_t /*max_bytes*/, VisitMemory /*visit*/, void* /*data*/) {
  return false;
}
size_t PageSize() noexcept { return 0; }
bool SetAccess(uintptr_t /*page*/, size_t /*size*/, PageAccess /*access*/) noexcept {
  return false;
}
bool HandleInvalidAccess(AccessHandler /*handler*/) noexcept { return false; }
bool HandlesInvalidAccess() noexcept { return false; }

}  // namespace tvm::ffi::platform
