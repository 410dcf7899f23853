// SPDX-License-Identifier: Apache-2.0
#include "module/library/other_runtimes.h"

#include <cstdio>

#include "../platform/platform.h"

namespace tvm::ffi::extra {

void WarnOfOtherRuntimes() noexcept {
  char path[1024];
  if (!platform::FindOtherRuntime(path, sizeof(path))) return;
  std::fprintf(
      stderr,
      "warning: %s is a second copy of the TVM FFI runtime in this process; libraries linked "
      "to one copy cannot use types and functions of the other; remove this copy, or the "
      "library that loads it\n",
      path);
}

}  // namespace tvm::ffi::extra
