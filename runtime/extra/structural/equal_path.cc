// SPDX-License-Identifier: Apache-2.0
// What EqualPath says about a mismatch.
#include "structural/equal_path.h"

#include "structural/rules.h"

namespace tvm::ffi::extra {
namespace {

using reflection::AccessPath;
using reflection::AccessPathPair;

[[noreturn]] void ThrowPathTooLong() {
  TVM_FFI_THROW(ValueError) << "the values differ, but deeper than the " << kMaxPathLength
                            << " levels that an access path may have";
  TVM_FFI_UNREACHABLE();
}

}  // namespace

AccessPathPair EqualPath::ToParts() const {
  if (frames_.size() > kMaxPathLength) ThrowPathTooLong();
  AccessPath lhs = AccessPath::Root();
  AccessPath rhs = AccessPath::Root();
  for (const Frame& frame : frames_) ExtendToPart(frame, &lhs, &rhs);
  return AccessPathPair(lhs, rhs);
}

void EqualPath::ExtendToPart(const Frame& frame, AccessPath* lhs, AccessPath* rhs) const {
  if (frame.kind == Frame::Kind::kItems) {
    auto position = static_cast<int64_t>(frame.next) - 1;
    *lhs = (*lhs)->ArrayItem(position);
    *rhs = (*rhs)->ArrayItem(position);
  } else if (frame.kind == Frame::Kind::kPairs) {
    const Extra& extra = extras_[frame.extras_begin];
    const Any& lhs_key = extra.position->first;
    *lhs = (*lhs)->MapItem(lhs_key);
    *rhs = (*rhs)->MapItem(extra.part == nullptr ? lhs_key : extra.part);
  } else if (std::optional<String> name = NameOfPart(frame)) {
    *lhs = (*lhs)->Attr(*name);
    *rhs = (*rhs)->Attr(*name);
  }
}

// Nothing when a hook does not say.
std::optional<String> EqualPath::NameOfPart(const Frame& frame) const {
  if (frame.kind == Frame::Kind::kFields) return String(frame.fields.Current()->name);
  const Any& name = extras_[frame.extras_begin].part;
  if (name == nullptr) return std::nullopt;
  return name.cast<String>();
}

}  // namespace tvm::ffi::extra
