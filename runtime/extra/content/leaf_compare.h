// SPDX-License-Identifier: Apache-2.0
// Comparison of values that are compared as a whole, not by their parts.
#ifndef TVM_FFI_RUNTIME_EXTRA_CONTENT_LEAF_COMPARE_H_
#define TVM_FFI_RUNTIME_EXTRA_CONTENT_LEAF_COMPARE_H_

#include <tvm/ffi/any.h>

#include <optional>

namespace tvm::ffi::extra {

enum class CompareMode {
  kEquality,  // anything but 0 says that the values differ
  kOrder,     // negative, 0 or positive; no order is an error
};

// Of values that have no parts (PartKindOf), or whose types differ.  In kOrder, throws TypeError
// when there is no order.
int CompareLeaves(const Any& lhs, const Any& rhs, CompareMode mode);

// Whether two objects of one type, which registered nothing about its content, stand for the same
// thing: tensors for the same view of memory, wrappers for the same wrapped object.
bool IsSameOpaque(const Any& lhs, const Any& rhs);

[[noreturn]] void ThrowNoOrder(int32_t type_index);

}  // namespace tvm::ffi::extra
#endif  // TVM_FFI_RUNTIME_EXTRA_CONTENT_LEAF_COMPARE_H_
