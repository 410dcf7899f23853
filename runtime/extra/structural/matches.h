// SPDX-License-Identifier: Apache-2.0
// StructuralMatches: the pairs that structural equality has found so far.  These are variables and
// DAG nodes, which are matched one to one, and other objects that are equal.  A failed comparison
// removes the pairs that it added.
#ifndef TVM_FFI_RUNTIME_EXTRA_STRUCTURAL_MATCHES_H_
#define TVM_FFI_RUNTIME_EXTRA_STRUCTURAL_MATCHES_H_

#include <tvm/ffi/any.h>

#include <cstddef>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "walk/object_table.h"

namespace tvm::ffi::extra {

class StructuralMatches {
 public:
  // Returns true if the objects are matched (recorded as equal to each other and to no other
  // object), false if one of them is matched with a third object, and nullopt if neither is
  // matched.
  std::optional<bool> AreMatched(const Object* lhs, const Object* rhs) const;
  // Records that two objects are equal to each other and to no other object.  Neither may be
  // matched already.
  void Match(const Any& lhs, const Any& rhs);

  bool AreKnownEqual(const Object* lhs, const Object* rhs) const {
    return !equal_.empty() && equal_.count({lhs, rhs}) != 0;
  }
  void RememberEqual(const Any& lhs, const Any& rhs);

  // Return the key of the other map that corresponds to the key `lhs` of the left map or `rhs` of
  // the right map.  A matched key corresponds to its match, and an unmatched key to itself.  The
  // result is nullptr if an unmatched key cannot correspond to itself, because on the other side
  // this object is already the match of another object.
  const Object* RhsOf(const Object* lhs) const { return Partner(rhs_of_, lhs_of_, lhs); }
  const Object* LhsOf(const Object* rhs) const { return Partner(lhs_of_, rhs_of_, rhs); }

  size_t size() const { return log_.size(); }
  // Removes the pairs that were added last, until `count` pairs are left.
  void TruncateTo(size_t count);

 private:
  using Partners = ObjectTable<const Object*>;
  using Objects = std::pair<const Object*, const Object*>;
  struct HashObjects {
    size_t operator()(const Objects& objects) const;
  };
  // A pair of objects.  The entry owns both objects, so that no other objects get their addresses.
  struct LogEntry {
    Any lhs;
    Any rhs;
    bool is_match;  // true if Match added the pair; false if RememberEqual added it
  };

  static const Object* Partner(const Partners& partners, const Partners& back,
                               const Object* object);

  std::vector<LogEntry> log_;
  Partners rhs_of_;
  Partners lhs_of_;
  std::unordered_set<Objects, HashObjects> equal_;
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_STRUCTURAL_MATCHES_H_
