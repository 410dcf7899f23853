// SPDX-License-Identifier: Apache-2.0
// Comparison of values without children: plain values, strings, bytes, shapes, big integers.
#ifndef TVM_FFI_RUNTIME_EXTRA_CONTENT_LEAF_COMPARE_H_
#define TVM_FFI_RUNTIME_EXTRA_CONTENT_LEAF_COMPARE_H_

#include <tvm/ffi/any.h>

#include <optional>

namespace tvm::ffi::extra {

enum class CompareMode {
  kEquality,  // the result is 0 if the values are equal, else nonzero
  kOrder,     // the result is negative, 0 or positive; TypeError for values without order
};

// Compares two values that have no children (ChildKindOf) or different types.  In kOrder, throws
// TypeError if the values have no order.
int CompareLeaves(const Any& lhs, const Any& rhs, CompareMode mode);

// Returns true if two objects of the same opaque type are considered identical.  For tensors, this
// means the same memory, shape, strides and dtype; for wrapped Python objects, the same Python
// object; for other objects, the same address.
bool IsSameOpaque(const Any& lhs, const Any& rhs);

[[noreturn]] void ThrowNoOrder(int32_t type_index);

}  // namespace tvm::ffi::extra
#endif  // TVM_FFI_RUNTIME_EXTRA_CONTENT_LEAF_COMPARE_H_
