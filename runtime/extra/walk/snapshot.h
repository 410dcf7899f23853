// SPDX-License-Identifier: Apache-2.0
// What a List or Dict holds at one moment, for walks that outlast the moment.
#ifndef TVM_FFI_RUNTIME_EXTRA_WALK_SNAPSHOT_H_
#define TVM_FFI_RUNTIME_EXTRA_WALK_SNAPSHOT_H_

#include <tvm/ffi/any.h>

#include <vector>

#include "walk/object_lock.h"
#include "walk/value_access.h"

namespace tvm::ffi::extra {

// Another List, or Map or Dict, with the same parts.
Any CopyList(const Any& list);
Any CopyTable(const Any& table);

// The copy of a List or Dict that is read in its place where threads of the host run at once.  Of
// other values, and elsewhere, there is none.
class Snapshot {
 public:
  Snapshot() = default;
  explicit Snapshot(const Any& value) {
    if (TVM_FFI_PREDICT_FALSE(LentHostLock() != nullptr)) Take(value);
  }
  // Where threads take turns there is a copy, too: hooks that the walk calls may change a Dict.
  static Snapshot Always(const Any& value) {
    Snapshot snapshot;
    snapshot.Take(value);
    return snapshot;
  }

  const Any& Or(const Any& value) const { return copy_ == nullptr ? value : copy_; }

 private:
  void Take(const Any& value) {
    if (value.type_index() == kTVMFFIList) copy_ = CopyList(value);
    if (value.type_index() == kTVMFFIDict) copy_ = CopyTable(value);
  }

  Any copy_;
};

// The copies that a walk has made, for those whose stack has no room for them.
class ListCopies {
 public:
  // Of an Array or List: what is to be read, itself or a copy that lives as long as the walk.
  const SeqBaseObj* Readable(const Any& sequence) {
    if (TVM_FFI_PREDICT_FALSE(LentHostLock() != nullptr)) {
      if (sequence.type_index() == kTVMFFIList) return SequenceOf(Keep(CopyList(sequence)));
    }
    return SequenceOf(sequence);
  }

 private:
  const Any& Keep(Any&& copy) {
    copies_.push_back(std::move(copy));
    return copies_.back();
  }

  std::vector<Any> copies_;
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_WALK_SNAPSHOT_H_
