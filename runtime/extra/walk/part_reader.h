// SPDX-License-Identifier: Apache-2.0
// What values consist of: elements of sequences, pairs of tables, registered fields of all other
// objects.  The services that walk through values of any type share this view.
#ifndef TVM_FFI_RUNTIME_EXTRA_WALK_PART_READER_H_
#define TVM_FFI_RUNTIME_EXTRA_WALK_PART_READER_H_

#include <tvm/ffi/container/map_base.h>

#include "walk/field_cursor.h"
#include "walk/snapshot.h"
#include "walk/value_access.h"

namespace tvm::ffi::extra {

enum class PartKind { kNone, kElements, kPairs, kFields };

// Plain values, strings, bytes, shapes and big integers have no parts.
PartKind PartKindOf(const Any& value);

// Hands out the parts of one object, which it keeps alive.  The object may change between two
// calls: a table is read as it was at the beginning, a list as far as it still reaches; where
// threads of the host run at once, as it was at the beginning, too.
class PartReader {
 public:
  // `object` has parts.
  explicit PartReader(const Any& object, int64_t skipped_flags = 0);

  const Any& value() const { return value_; }
  const Object* object() const { return ObjectOf(value_); }
  PartKind kind() const { return kind_; }
  // Elements or pairs there were at the beginning.
  size_t size() const { return size_; }

  // The next element, key, value that belongs to the last key, or field; nullptr behind the last
  // one.  Valid until the next call, and only as long as the object does not change.
  const Any* Next();
  // Leaves out that many elements, or pairs of key and value; not between a key and its value.
  void Skip(size_t num_items);
  // How many parts were handed out or left out; keys and values count as one each.
  size_t count() const { return count_; }
  // The field handed out last.
  const TVMFFIFieldInfo* field() const { return fields_.Current(); }

 private:
  const Any* NextElement();
  const Any* NextOfPair();
  const Any* NextField();

  Any value_;
  PartKind kind_;
  Snapshot copy_;
  const SeqBaseObj* sequence_ = nullptr;  // of kElements: what is read, the value or a copy of it
  size_t size_ = 0;
  size_t count_ = 0;
  FieldCursor fields_;
  Any field_value_;
  MapBaseObj::iterator pair_;
};

}  // namespace tvm::ffi::extra
#endif  // TVM_FFI_RUNTIME_EXTRA_WALK_PART_READER_H_
