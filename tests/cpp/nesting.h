// SPDX-License-Identifier: Apache-2.0
// Values nested deeper than recursive destructors can release.
#ifndef TVM_FFI_TESTS_CPP_NESTING_H_
#define TVM_FFI_TESTS_CPP_NESTING_H_

#include <tvm/ffi/container/list.h>

#include <utility>
#include <vector>

#include "../runtime/small_stack.h"

// wrap(...wrap(wrap(leaf))...); keeps a reference to every level, and releases the outer ones
// first.
class Nested {
 public:
  template <typename Wrap>
  Nested(size_t depth, tvm::ffi::Any leaf, Wrap wrap) {
    levels_.push_back(std::move(leaf));
    for (size_t i = 0; i < depth; ++i) levels_.push_back(wrap(levels_.back()));
  }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;
  ~Nested() {
    while (!levels_.empty()) levels_.pop_back();
  }
  const tvm::ffi::Any& value() const { return levels_.back(); }

 private:
  std::vector<tvm::ffi::Any> levels_;
};

inline tvm::ffi::Any InList(const tvm::ffi::Any& value) {
  return tvm::ffi::List<tvm::ffi::Any>{value};
}

// [x, x] of [x, x] of ...: 2^depth paths to the leaf, and `depth` objects.
inline tvm::ffi::Any Doubled(int depth, tvm::ffi::Any leaf) {
  for (int i = 0; i < depth; ++i) leaf = tvm::ffi::List<tvm::ffi::Any>{leaf, leaf};
  return leaf;
}

#endif  // TVM_FFI_TESTS_CPP_NESTING_H_
