// SPDX-License-Identifier: Apache-2.0
// ObjectLock: the per-object lock for walks under free-threaded Python, where other threads may
// change a value concurrently.
//
// Under Python with a GIL, nothing is locked, because the thread of the walk keeps the GIL.
// docs/design/free-threading.md
#ifndef TVM_FFI_RUNTIME_EXTRA_WALK_OBJECT_LOCK_H_
#define TVM_FFI_RUNTIME_EXTRA_WALK_OBJECT_LOCK_H_

#include <tvm/ffi/object.h>

#include "../core/extra_layer.h"

namespace tvm::ffi::extra {

// Returns the lock that the host has registered, or null.
inline const runtime::HostLock* RegisteredHostLock() {
  return runtime::host_lock.load(std::memory_order_acquire);
}

// Locks an object against other threads of the host.  A walk holds the lock while it takes
// references to the children of the object, but not while it walks the children.
class ObjectLock {
 public:
  explicit ObjectLock(const Object* object) : host_(RegisteredHostLock()) {
    if (TVM_FFI_PREDICT_FALSE(host_ != nullptr)) host_->begin(section_, object);
  }
  ObjectLock(const ObjectLock&) = delete;
  ObjectLock& operator=(const ObjectLock&) = delete;
  ~ObjectLock() {
    if (TVM_FFI_PREDICT_FALSE(host_ != nullptr)) host_->end(section_);
  }

 private:
  const runtime::HostLock* host_;
  alignas(void*) unsigned char section_[runtime::kLockSectionBytes];
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_WALK_OBJECT_LOCK_H_
