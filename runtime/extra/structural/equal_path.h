// SPDX-License-Identifier: Apache-2.0
// EqualPath: the stack of structural equality, from the root pair to the innermost pair, and its
// conversion to the two access paths of a mismatch.
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
  // An entry of the stack: a pair of values whose children are being compared.  The kind determines
  // the children: elements of sequences, pairs of maps, fields of objects, or the calls of an
  // equality hook.
  struct Frame {
    enum class Kind : uint8_t { kItems, kPairs, kFields, kHook };
    Kind kind;
    TVMFFISEqHashKind structural_kind;  // kFields and kHook: structural kind of the type
    TVMFFIDefRegionKind region;         // definition region (role of variables) of the values
    FieldCursor fields;                 // kFields: cursor at the current field
    size_t next;                        // kItems, kPairs: number of children read so far
    size_t num_identity_keys;           // EqualWalk::num_identity_keys_ when the frame was pushed
    Any lhs;
    Any rhs;
    const SeqBaseObj* lhs_items = nullptr;  // kItems: the sequences, or their copies
    const SeqBaseObj* rhs_items = nullptr;
    size_t extras_begin = 0;  // index in extras_ of the Extra of this frame
  };
  // The part of the state that only frames of kind kPairs or kHook have.
  struct Extra {
    Snapshot lhs;                     // kPairs: copy of the left map, or empty if none is needed
    Snapshot rhs;                     // kPairs: copy of the right map, or empty if none is needed
    MapBaseObj::iterator position{};  // kPairs: current pair of the left map
    // kPairs: the key in the right map that corresponds to the current key of the left map, if that
    // key is an object.  kHook: the field name that the hook passed.
    Any key_or_name{};
  };

  size_t size() const { return frames_.size(); }
  Frame& back() { return frames_.back(); }
  Extra& ExtraOf(const Frame& frame) { return extras_[frame.extras_begin]; }
  Extra& last_extra() { return extras_.back(); }
  // Return the left or right map to read for a frame of kind kPairs: the value itself, or its copy.
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
  // Adds the additional state of the innermost frame.
  void AddExtra(Extra&& extra) { extras_.push_back(std::move(extra)); }
  void Pop() {
    extras_.resize(frames_.back().extras_begin);
    frames_.pop_back();
  }

  // Returns the two access paths from the roots to the current children of the innermost frame.
  // Throws ValueError if a path would be too long.
  reflection::AccessPathPair ToAccessPaths() const;

 private:
  // Extends both paths by the step to the current child of the frame.
  void AddStep(const Frame& frame, reflection::AccessPath* lhs, reflection::AccessPath* rhs) const;
  // Returns the name of the current field, or nullopt if a hook passed no name.
  std::optional<String> FieldNameOf(const Frame& frame) const;

  std::vector<Frame> frames_;
  std::vector<Extra> extras_;  // the Extra of each kPairs or kHook frame, in frame order
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_STRUCTURAL_EQUAL_PATH_H_
