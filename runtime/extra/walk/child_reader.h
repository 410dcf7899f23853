// SPDX-License-Identifier: Apache-2.0
// ChildReader: iteration over the children of a value: the elements of a sequence, the keys and
// values of a map, or the registered fields of another object.
#ifndef TVM_FFI_RUNTIME_EXTRA_WALK_CHILD_READER_H_
#define TVM_FFI_RUNTIME_EXTRA_WALK_CHILD_READER_H_

#include <tvm/ffi/container/map_base.h>

#include "walk/field_cursor.h"
#include "walk/snapshot.h"
#include "walk/value_access.h"

namespace tvm::ffi::extra {

enum class ChildKind { kNone, kElements, kPairs, kFields };

// Returns the kind of the value's children; kNone for values without children: plain values,
// strings, bytes, shapes, big integers.
ChildKind ChildKindOf(const Any& value);

// Reads the children of one object, which it keeps alive.  The object may change between two calls:
// a Dict is read from a copy made at construction, a List up to its current size.  Under
// free-threaded Python, a List is also read from a copy.
class ChildReader {
 public:
  // object  the value whose children are read; must be a value with children
  explicit ChildReader(const Any& object, int64_t skipped_flags = 0);

  const Any& value() const { return value_; }
  const Object* object() const { return ObjectOf(value_); }
  ChildKind kind() const { return kind_; }
  // Returns the number of elements or pairs that the object had when the reader was constructed.
  size_t size() const { return size_; }

  // Returns the next child: an element, a field, or alternately a key and its value.  Returns
  // nullptr after the last child.  The child is borrowed until the next call or a change of the
  // object.
  const Any* Next();
  // Skips `num_items` elements, or pairs of a key and a value.  Must not be called between a key
  // and its value.
  void Skip(size_t num_items);
  // Returns the number of children that were read or skipped; a key and its value are two children.
  size_t count() const { return count_; }
  // Returns the field whose value the last call of Next returned.
  const TVMFFIFieldInfo* field() const { return fields_.Current(); }

 private:
  const Any* NextElement();
  const Any* NextOfPair();
  const Any* NextField();

  Any value_;
  ChildKind kind_;
  Snapshot copy_;
  const SeqBaseObj* sequence_ = nullptr;  // kElements: the sequence, or its copy
  size_t size_ = 0;
  size_t count_ = 0;
  FieldCursor fields_;
  Any field_value_;
  MapBaseObj::iterator pair_;
};

}  // namespace tvm::ffi::extra
#endif  // TVM_FFI_RUNTIME_EXTRA_WALK_CHILD_READER_H_
