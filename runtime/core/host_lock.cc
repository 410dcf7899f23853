// SPDX-License-Identifier: Apache-2.0
// Storage of the per-object lock that a host without a GIL registers.
#include "host_lock.h"

namespace tvm::ffi::runtime {

std::atomic<const HostLock*> host_lock{nullptr};

namespace {

HostLock registered_functions{nullptr, nullptr};

}  // namespace

// Not thread-safe: the host registers both functions on one thread while it loads the runtime.
bool RegisterHostLockFunction(std::string_view name, void* symbol) {
  if (name == "ObjectLock_Begin") {
    registered_functions.begin = reinterpret_cast<decltype(HostLock::begin)>(symbol);
  } else if (name == "ObjectLock_End") {
    registered_functions.end = reinterpret_cast<decltype(HostLock::end)>(symbol);
  } else {
    return false;
  }
  bool is_complete = registered_functions.begin != nullptr && registered_functions.end != nullptr;
  host_lock.store(is_complete ? &registered_functions : nullptr, std::memory_order_release);
  return true;
}

}  // namespace tvm::ffi::runtime
