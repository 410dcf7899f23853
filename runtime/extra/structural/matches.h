// SPDX-License-Identifier: Apache-2.0
// What structural equality has found so far: variables and DAG nodes matched one to one, and pairs
// of other objects known to be equal.  A comparison that fails takes back what it added.
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
  // Whether the two are matched with each other; nothing when neither is matched yet.
  std::optional<bool> AreMatched(const Object* lhs, const Object* rhs) const;
  // Neither is matched yet.
  void Match(const Any& lhs, const Any& rhs);

  bool AreKnownEqual(const Object* lhs, const Object* rhs) const {
    return !equal_.empty() && equal_.count({lhs, rhs}) != 0;
  }
  void RememberEqual(const Any& lhs, const Any& rhs);

  // The object that stands for an object of the other side as a key: what it is matched with, else
  // the object itself; nullptr when this side has matched that with something else.
  const Object* RhsOf(const Object* lhs) const { return Partner(rhs_of_, lhs_of_, lhs); }
  const Object* LhsOf(const Object* rhs) const { return Partner(lhs_of_, rhs_of_, rhs); }

  size_t size() const { return log_.size(); }
  // Takes back everything but the first `count` findings.
  void ForgetBeyond(size_t count);

 private:
  using Partners = ObjectTable<const Object*>;
  using Objects = std::pair<const Object*, const Object*>;
  struct HashObjects {
    size_t operator()(const Objects& objects) const;
  };
  // Keeps the objects, so that no others get their addresses.
  struct Finding {
    Any lhs;
    Any rhs;
    bool is_match;
  };

  static const Object* Partner(const Partners& partners, const Partners& back,
                               const Object* object);

  std::vector<Finding> log_;
  Partners rhs_of_;
  Partners lhs_of_;
  std::unordered_set<Objects, HashObjects> equal_;
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_STRUCTURAL_MATCHES_H_
