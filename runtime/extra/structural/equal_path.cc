// SPDX-License-Identifier: Apache-2.0
// EqualPath: conversion of the stack of structural equality to the access paths of a mismatch.
#include "structural/equal_path.h"

#include "structural/rules.h"

namespace tvm::ffi::extra {
namespace {

using reflection::AccessPath;
using reflection::AccessPathPair;

[[noreturn]] void ThrowPathTooLong() {
  TVM_FFI_THROW(ValueError) << "the values differ at a depth of more than " << kMaxPathLength
                            << " levels, the maximum length of an access path";
  TVM_FFI_UNREACHABLE();
}

}  // namespace

AccessPathPair EqualPath::ToAccessPaths() const {
  if (frames_.size() > kMaxPathLength) ThrowPathTooLong();
  AccessPath lhs = AccessPath::Root();
  AccessPath rhs = AccessPath::Root();
  for (const Frame& frame : frames_) AddStep(frame, &lhs, &rhs);
  return AccessPathPair(lhs, rhs);
}

void EqualPath::AddStep(const Frame& frame, AccessPath* lhs, AccessPath* rhs) const {
  if (frame.kind == Frame::Kind::kItems) {
    auto position = static_cast<int64_t>(frame.next) - 1;
    *lhs = (*lhs)->ArrayItem(position);
    *rhs = (*rhs)->ArrayItem(position);
  } else if (frame.kind == Frame::Kind::kPairs) {
    const Extra& extra = extras_[frame.extras_begin];
    const Any& lhs_key = extra.position->first;
    *lhs = (*lhs)->MapItem(lhs_key);
    *rhs = (*rhs)->MapItem(extra.key_or_name == nullptr ? lhs_key : extra.key_or_name);
  } else if (std::optional<String> name = FieldNameOf(frame)) {
    *lhs = (*lhs)->Attr(*name);
    *rhs = (*rhs)->Attr(*name);
  }
}

std::optional<String> EqualPath::FieldNameOf(const Frame& frame) const {
  if (frame.kind == Frame::Kind::kFields) return String(frame.fields.Current()->name);
  const Any& name = extras_[frame.extras_begin].key_or_name;
  if (name == nullptr) return std::nullopt;
  return name.cast<String>();
}

}  // namespace tvm::ffi::extra
