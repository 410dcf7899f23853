// SPDX-License-Identifier: Apache-2.0
// Snapshots: copies of Lists and Dicts that a walk reads while other code may change the originals.
#ifndef TVM_FFI_RUNTIME_EXTRA_WALK_SNAPSHOT_H_
#define TVM_FFI_RUNTIME_EXTRA_WALK_SNAPSHOT_H_

#include <tvm/ffi/any.h>

#include <vector>

#include "walk/object_lock.h"
#include "walk/value_access.h"

namespace tvm::ffi::extra {

// Return a shallow copy.  CopyList copies a List, CopyTable copies a Map or Dict.
Any CopyList(const Any& list);
Any CopyTable(const Any& table);

// A copy of a List or Dict that a walk reads instead of the original.  The copy is made only under
// free-threaded Python.  A Snapshot of a value of another type is empty.
class Snapshot {
 public:
  Snapshot() = default;
  explicit Snapshot(const Any& value) {
    if (TVM_FFI_PREDICT_FALSE(RegisteredHostLock() != nullptr)) Take(value);
  }
  // Returns a copy of the value even if Python has a GIL, because hooks that the walk calls may
  // change a Dict.
  static Snapshot Always(const Any& value) {
    Snapshot snapshot;
    snapshot.Take(value);
    return snapshot;
  }

  // Returns the copy if a copy was made, else `value`.
  const Any& Or(const Any& value) const { return copy_ == nullptr ? value : copy_; }

 private:
  void Take(const Any& value) {
    if (value.type_index() == kTVMFFIList) copy_ = CopyList(value);
    if (value.type_index() == kTVMFFIDict) copy_ = CopyTable(value);
  }

  Any copy_;
};

// Copies of Lists that live as long as the walk, for walks whose frames do not store a Snapshot.
class ListCopies {
 public:
  // Returns the sequence to read for an Array or List: the value itself, or a copy of it.
  const SeqBaseObj* Readable(const Any& sequence) {
    if (TVM_FFI_PREDICT_FALSE(RegisteredHostLock() != nullptr)) {
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
