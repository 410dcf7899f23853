// SPDX-License-Identifier: Apache-2.0
// StructuralMatches: the log of pairs and its lookup tables.
#include "structural/matches.h"

#include <tvm/ffi/object.h>

#include <functional>

#include "walk/value_access.h"

namespace tvm::ffi::extra {

std::optional<bool> StructuralMatches::AreMatched(const Object* lhs, const Object* rhs) const {
  if (const Object* const* partner = rhs_of_.Find(lhs)) return *partner == rhs;
  if (lhs_of_.Find(rhs) != nullptr) return false;
  return std::nullopt;
}

void StructuralMatches::Match(const Any& lhs, const Any& rhs) {
  log_.push_back({lhs, rhs, true});
  rhs_of_.Set(ObjectOf(lhs), ObjectOf(rhs));
  lhs_of_.Set(ObjectOf(rhs), ObjectOf(lhs));
}

void StructuralMatches::RememberEqual(const Any& lhs, const Any& rhs) {
  log_.push_back({lhs, rhs, false});
  equal_.emplace(ObjectOf(lhs), ObjectOf(rhs));
}

const Object* StructuralMatches::Partner(const Partners& partners, const Partners& back,
                                         const Object* object) {
  if (const Object* const* partner = partners.Find(object)) return *partner;
  return back.Find(object) == nullptr ? object : nullptr;
}

void StructuralMatches::TruncateTo(size_t count) {
  for (; log_.size() > count; log_.pop_back()) {
    const Object* lhs = ObjectOf(log_.back().lhs);
    const Object* rhs = ObjectOf(log_.back().rhs);
    if (log_.back().is_match) {
      rhs_of_.Erase(lhs);
      lhs_of_.Erase(rhs);
    } else {
      equal_.erase({lhs, rhs});
    }
  }
}

size_t StructuralMatches::HashObjects::operator()(const Objects& objects) const {
  std::hash<const void*> hash;
  return hash(objects.first) * 31 + hash(objects.second);
}

}  // namespace tvm::ffi::extra
