// SPDX-License-Identifier: Apache-2.0
// Reading what threads of the host may change at the same time, where they run at once.
//
// Where they take turns, as those of a Python with a GIL do, nothing is locked: the host keeps its
// turn while the runtime walks.  docs/design/free-threading.md
#ifndef TVM_FFI_RUNTIME_EXTRA_WALK_OBJECT_LOCK_H_
#define TVM_FFI_RUNTIME_EXTRA_WALK_OBJECT_LOCK_H_

#include <tvm/ffi/object.h>

#include "../core/extra_layer.h"

namespace tvm::ffi::extra {

inline const runtime::HostLock* LentHostLock() {
  return runtime::host_lock.load(std::memory_order_acquire);
}

// Keeps other threads of the host from an object.  Held while references to its parts are taken,
// not while the parts are walked.
class ObjectLock {
 public:
  explicit ObjectLock(const Object* object) : host_(LentHostLock()) {
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
