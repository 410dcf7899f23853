// SPDX-License-Identifier: Apache-2.0
// The code of a check program: instructions for checks of several arguments.
#include <tvm/ffi/error.h>

#include <algorithm>
#include <cstring>

#include "checks/run.h"
#include "checks/tensor_properties.h"

namespace tvm::ffi::extra::checks {
namespace {

// Stores the quotient left / right in *out, rounded up if `is_up` is true, else rounded down as in
// Python.  Returns false on overflow.
inline bool FloorDivide(int64_t left, int64_t right, bool is_up, int64_t* out) {
  // Both operands fit in 32 bits, which is usual; 32-bit division is much faster.
  if (((left | right) >> 32) == 0) {
    auto dividend = static_cast<uint32_t>(left), divisor = static_cast<uint32_t>(right);
    *out = dividend / divisor + (is_up && dividend % divisor != 0 ? 1u : 0u);
    return true;
  }
  if (right == -1) return !__builtin_sub_overflow(int64_t{0}, left, out);
  int64_t quotient = left / right;
  bool is_negative = (left < 0) != (right < 0);
  if (left % right != 0 && is_negative != is_up) quotient += is_up ? 1 : -1;
  *out = quotient;
  return true;
}

int64_t Modulo(int64_t left, int64_t right) {
  if (((left | right) >> 32) == 0) {  // as in FloorDivide
    return static_cast<int64_t>(static_cast<uint32_t>(left) % static_cast<uint32_t>(right));
  }
  if (right == -1) return 0;
  int64_t rest = left % right;
  return rest != 0 && (rest < 0) != (right < 0) ? rest + right : rest;
}

}  // namespace

// Converts an axis to an index from 0 on.  A negative axis counts from the last axis.  Throws if
// the tensor has no such axis: programs of tvm_ffi check the number of dimensions before they use
// an axis, but programs from other sources may not.
int32_t CheckRun::AxisOf(const DLTensor& tensor, int64_t axis) const {
  if (axis < 0) axis += tensor.ndim;
  if (axis < 0 || axis >= tensor.ndim) {
    TVM_FFI_THROW(InternalError) << "check program: axis " << axis
                                 << " out of range, the tensor has " << tensor.ndim
                                 << " dimensions";
  }
  return static_cast<int32_t>(axis);
}

// Programs of tvm_ffi check the number of dimensions before they use a gap, but programs from other
// sources may not.
ShapeView CheckRun::ExtentsIn(Gap gap, const DLTensor* tensor) const {
  bool is_valid = tensor != nullptr && gap.first >= 0 && gap.first <= gap.num_others &&
                  gap.num_others <= tensor->ndim;
  if (!is_valid) {
    TVM_FFI_THROW(InternalError) << "check program: a tensor lacks the dimensions of an ellipsis";
  }
  return ShapeView(tensor->shape + gap.first, static_cast<size_t>(tensor->ndim - gap.num_others));
}

void CheckRun::CheckSameDimensions(const int64_t* o) const {
  if (tensors_[o[0]] == nullptr || tensors_[o[3]] == nullptr) return;
  ShapeView got = ExtentsIn({o[1], o[2]}, tensors_[o[0]]);
  ShapeView expected = ExtentsIn({o[4], o[5]}, tensors_[o[3]]);
  if (got.size() != expected.size()) {
    FailNumber(o[6], static_cast<int64_t>(got.size()), static_cast<int64_t>(expected.size()));
  }
  for (size_t i = 0; i < got.size(); ++i) {
    if (TVM_FFI_PREDICT_TRUE(got[i] == expected[i])) continue;
    MessageValues values;
    values.got = std::to_string(got[i]);
    values.expected = std::to_string(expected[i]);
    values.axis = std::to_string(static_cast<size_t>(o[1]) + i);
    values.index = std::to_string(i);
    Fail(static_cast<uint32_t>(o[7]), values);
  }
}

// The tensor slot of an argument that is None is nullptr; then the checks of the tensor are
// skipped.
void CheckRun::Execute(size_t start) {
  const int64_t* code = program_.code.data();
  const int64_t* at = code + start;
  int64_t* v = registers_;
  for (;;) {
    const int64_t* o = at + 1;  // operands
    switch (static_cast<Operation>(*at)) {
      case Operation::kEnd:
        return;
      case Operation::kJumpIfZero:
        at = v[o[0]] == 0 ? code + o[1] : o + 2;
        break;
      case Operation::kJumpIfNoTensor:
        at = tensors_[o[0]] == nullptr ? code + o[1] : o + 2;
        break;
      case Operation::kRange:
        if (v[o[0]] < o[1] || v[o[0]] > o[2]) FailNumber(o[3], v[o[0]]);
        at = o + 4;
        break;
      case Operation::kExtentEquals:
        if (const DLTensor* t = tensors_[o[0]]) {
          int32_t axis = AxisOf(*t, o[1]);
          if (t->shape[axis] != v[o[2]]) FailNumber(o[3], t->shape[axis], v[o[2]], axis);
        }
        at = o + 4;
        break;
      case Operation::kSameDevice:
        if (const DLTensor *tensor = tensors_[o[0]], *first = tensors_[o[1]];
            tensor != nullptr && first != nullptr &&
            tensor->device.device_id != first->device.device_id) {
          FailNumber(o[2], tensor->device.device_id, first->device.device_id);
        }
        at = o + 3;
        break;
      case Operation::kOverlap:
        if (const DLTensor *written = tensors_[o[0]], *other = tensors_[o[1]];
            written != nullptr && other != nullptr && Overlap(*written, *other)) {
          Fail(static_cast<uint32_t>(o[2]), {});
        }
        at = o + 3;
        break;
      case Operation::kAdd:
        if (__builtin_add_overflow(v[o[1]], v[o[2]], &v[o[0]])) FailNumber(o[3], 0);
        at = o + 4;
        break;
      case Operation::kSubtract:
        if (__builtin_sub_overflow(v[o[1]], v[o[2]], &v[o[0]])) FailNumber(o[3], 0);
        at = o + 4;
        break;
      case Operation::kMultiply:
        if (__builtin_mul_overflow(v[o[1]], v[o[2]], &v[o[0]])) FailNumber(o[3], 0);
        at = o + 4;
        break;
      case Operation::kDivide:
        if (v[o[2]] == 0) FailNumber(o[3], 0);
        if (!FloorDivide(v[o[1]], v[o[2]], false, &v[o[0]])) FailNumber(o[4], 0);
        at = o + 5;
        break;
      case Operation::kDivideUp:
        if (v[o[2]] == 0) FailNumber(o[3], 0);
        if (!FloorDivide(v[o[1]], v[o[2]], true, &v[o[0]])) FailNumber(o[4], 0);
        at = o + 5;
        break;
      case Operation::kModulo:
        if (v[o[2]] == 0) FailNumber(o[3], 0);
        v[o[0]] = Modulo(v[o[1]], v[o[2]]);
        at = o + 4;
        break;
      case Operation::kMinimum:
        v[o[0]] = std::min(v[o[1]], v[o[2]]);
        at = o + 3;
        break;
      case Operation::kMaximum:
        v[o[0]] = std::max(v[o[1]], v[o[2]]);
        at = o + 3;
        break;
      case Operation::kLess:
        v[o[0]] = v[o[1]] < v[o[2]];
        at = o + 3;
        break;
      case Operation::kLessEqual:
        v[o[0]] = v[o[1]] <= v[o[2]];
        at = o + 3;
        break;
      case Operation::kEqual:
        v[o[0]] = v[o[1]] == v[o[2]];
        at = o + 3;
        break;
      case Operation::kNotEqual:
        v[o[0]] = v[o[1]] != v[o[2]];
        at = o + 3;
        break;
      case Operation::kSize:
        if (const DLTensor* t = tensors_[o[1]]) v[o[0]] = SizeOf(*t);
        at = o + 2;
        break;
      case Operation::kNumDims:
        if (const DLTensor* t = tensors_[o[1]]) v[o[0]] = t->ndim;
        at = o + 2;
        break;
      case Operation::kDeviceNumber:
        if (const DLTensor* t = tensors_[o[1]]) v[o[0]] = t->device.device_id;
        at = o + 2;
        break;
      case Operation::kExtent:
        if (const DLTensor* t = tensors_[o[1]]) v[o[0]] = t->shape[AxisOf(*t, o[2])];
        at = o + 3;
        break;
      case Operation::kStride:
        if (const DLTensor* t = tensors_[o[1]]) v[o[0]] = StrideOf(*t, AxisOf(*t, o[2]));
        at = o + 3;
        break;
      case Operation::kSameDimensions:
        CheckSameDimensions(o);
        at = o + 8;
        break;
      case Operation::kJumpIfNone: {
        bool is_given = static_cast<size_t>(o[0]) < num_args_;
        bool is_none = is_given ? args_[o[0]].type_index == kTVMFFINone : o[1] != 0;
        at = is_none ? code + o[2] : o + 3;
        break;
      }
    }
  }
}

}  // namespace tvm::ffi::extra::checks
