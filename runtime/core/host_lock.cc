// SPDX-License-Identifier: Apache-2.0
#include "host_lock.h"

namespace tvm::ffi::runtime {

std::atomic<const HostLock*> host_lock{nullptr};

namespace {

HostLock lent{nullptr, nullptr};

}  // namespace

// Both functions come while the host loads the runtime, on one thread.
bool LendHostLock(std::string_view name, void* symbol) {
  if (name == "ObjectLock_Begin") {
    lent.begin = reinterpret_cast<decltype(HostLock::begin)>(symbol);
  } else if (name == "ObjectLock_End") {
    lent.end = reinterpret_cast<decltype(HostLock::end)>(symbol);
  } else {
    return false;
  }
  bool is_whole = lent.begin != nullptr && lent.end != nullptr;
  host_lock.store(is_whole ? &lent : nullptr, std::memory_order_release);
  return true;
}

}  // namespace tvm::ffi::runtime
