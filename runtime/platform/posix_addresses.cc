// SPDX-License-Identifier: Apache-2.0
// Code addresses on POSIX systems, with dladdr.
#include <dlfcn.h>

#include "platform.h"

namespace tvm::ffi::platform {

const void* LibraryStartAt(const void* address) noexcept {
  Dl_info info;
  return dladdr(address, &info) == 0 ? nullptr : info.dli_fbase;
}

AddressDescription DescribeAddress(const void* address) {
  AddressDescription result;
  Dl_info info;
  if (dladdr(address, &info) == 0) return result;
  if (info.dli_fname != nullptr) result.library = info.dli_fname;
  if (info.dli_sname != nullptr) result.symbol = info.dli_sname;
  return result;
}

}  // namespace tvm::ffi::platform
