// SPDX-License-Identifier: Apache-2.0
// The pairs of values that structural equality is inside of, from the outermost to the innermost: a
// stack for the walk, and the way to the parts that it compares.
#ifndef TVM_FFI_RUNTIME_EXTRA_STRUCTURAL_EQUAL_PATH_H_
#define TVM_FFI_RUNTIME_EXTRA_STRUCTURAL_EQUAL_PATH_H_

#include <tvm/ffi/container/map.h>
#include <tvm/ffi/extra/structural_equal.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "walk/field_cursor.h"
#include "walk/snapshot.h"

namespace tvm::ffi::extra {

class EqualPath {
 public:
  // A pair of values whose parts are being compared.
  struct Frame {
    enum class Kind : uint8_t { kItems, kPairs, kFields, kHook };
    Kind kind;
    TVMFFISEqHashKind structural_kind;  // of kFields and kHook
    TVMFFIDefRegionKind region;         // around the values
    FieldCursor fields;                 // of kFields
    size_t next;                        // kItems, kPairs: number of parts begun
    size_t num_identity_keys;           // before the frame
    Any lhs;
    Any rhs;
    const SeqBaseObj* lhs_items = nullptr;  // kItems: what is read, the values or copies of them
    const SeqBaseObj* rhs_items = nullptr;
    size_t extras_begin = 0;  // the extras from here on belong to this frame
  };
  // What frames of kPairs and kHook need in addition.
  struct Extra {
    Snapshot lhs;  // kPairs: of the tables
    Snapshot rhs;
    MapBaseObj::iterator position{};  // kPairs: in the left table
    Any part{};  // kPairs: the right key, if it may be another object; kHook: the name of the field
  };

  size_t size() const { return frames_.size(); }
  Frame& back() { return frames_.back(); }
  Extra& ExtraOf(const Frame& frame) { return extras_[frame.extras_begin]; }
  Extra& last_extra() { return extras_.back(); }
  // What to read of the values of a frame of kPairs.
  const Any& LhsOf(const Frame& frame) const {
    return extras_[frame.extras_begin].lhs.Or(frame.lhs);
  }
  const Any& RhsOf(const Frame& frame) const {
    return extras_[frame.extras_begin].rhs.Or(frame.rhs);
  }

  void Push(Frame&& frame) {
    if (frames_.capacity() == 0) frames_.reserve(8);
    frames_.push_back(std::move(frame));
    frames_.back().extras_begin = extras_.size();
  }
  // To the innermost frame.
  void AddExtra(Extra&& extra) { extras_.push_back(std::move(extra)); }
  void Pop() {
    extras_.resize(frames_.back().extras_begin);
    frames_.pop_back();
  }

  // The paths to the parts that the frames are at.  Fails: ValueError when they are too long.
  reflection::AccessPathPair ToParts() const;

 private:
  void ExtendToPart(const Frame& frame, reflection::AccessPath* lhs,
                    reflection::AccessPath* rhs) const;
  std::optional<String> NameOfPart(const Frame& frame) const;

  std::vector<Frame> frames_;
  std::vector<Extra> extras_;  // of the frames in turn
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_STRUCTURAL_EQUAL_PATH_H_
