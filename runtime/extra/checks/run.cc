// SPDX-License-Identifier: Apache-2.0
#include "checks/run.h"

#include <tvm/ffi/error.h>

#include <algorithm>
#include <cstring>

#include "checks/tensor_properties.h"
#include "content/repr_text.h"

namespace tvm::ffi::extra::checks {
namespace {

constexpr uint64_t kIntBit = uint64_t{1} << kTVMFFIInt, kBoolBit = uint64_t{1} << kTVMFFIBool;

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
  if (right == -1) return 0;
  int64_t rest = left % right;
  return rest != 0 && (rest < 0) != (right < 0) ? rest + right : rest;
}

}  // namespace

// ---- Errors of failed checks --------------------------------------------------------------------

void CheckRun::Fail(uint32_t failure, const MessageValues& values) const {
  Raise(program_.failures[failure], values);
}

void CheckRun::FailNumber(int64_t failure, int64_t got, int64_t expected, int64_t axis) const {
  MessageValues values;
  values.got = std::to_string(got);
  values.expected = std::to_string(expected);
  values.axis = std::to_string(axis);
  Fail(static_cast<uint32_t>(failure), values);
}

void CheckRun::FailCount() const {
  if (num_args_ < program_.missing_failures.size()) Fail(program_.missing_failures[num_args_], {});
  FailNumber(num_args_ == 1 ? program_.too_many_singular : program_.too_many_plural, num_args_);
}

void CheckRun::FailType(const ArgumentCheck& check, const TVMFFIAny& arg) const {
  MessageValues values;
  values.got = TypeNameOf(arg);
  bool is_bigint = arg.type_index == kTVMFFIBigInt;
  Fail(is_bigint ? check.bigint_failure : check.type_failure, values);
}

void CheckRun::FailDevice(uint32_t failure, DLDevice got) const {
  MessageValues values;
  AppendDevice(got, &values.got);
  Fail(failure, values);
}

void CheckRun::FailDtype(uint32_t failure, DLDataType got, const DLDataType* expected) const {
  MessageValues values;
  values.got = DtypeText(got);
  if (expected != nullptr) values.expected = DtypeText(*expected);
  Fail(failure, values);
}

void CheckRun::FailStrides(uint32_t failure, const DLTensor& tensor) const {
  MessageValues values;
  values.got = StridesText(tensor);
  Fail(failure, values);
}

// ---- Checks of one argument ---------------------------------------------------------------------

void CheckRun::Check() {
  if (TVM_FFI_PREDICT_FALSE(num_args_ < program_.num_required ||
                            num_args_ > program_.num_parameters)) {
    FailCount();
  }
  // Copies of constant size compile to fewer instructions than a memcpy of unknown size.
  constexpr size_t kBlock = CheckProgram::kBlock;
  for (size_t i = 0, end = program_.initial.size(); i < end; i += kBlock) {
    std::memcpy(registers_ + i, program_.initial.data() + i, sizeof(int64_t[kBlock]));
  }
  const ArgumentCheck* check = program_.arguments.data();
  const TVMFFIAny* arg = args_;
  const DLTensor** slot = tensors_;
  for (const TVMFFIAny* end = arg + num_args_; arg != end; ++arg, ++check, ++slot) {
    *slot = nullptr;
    if (check->kind == ArgumentKind::kTensor) {
      *slot = ReadTensor(*check, *arg);
      if (TVM_FFI_PREDICT_TRUE(*slot != nullptr)) CheckTensor(*check, **slot);
    } else if ((TypeBit(arg->type_index) & check->trivial_types) == 0) {
      CheckValue(*check, *arg);
    }
  }
  if (TVM_FFI_PREDICT_FALSE(num_args_ != program_.num_tensors)) CheckMissing();
  if (program_.code[0] != 0) Execute(0);
}

// Clears the tensor slots that no argument has filled, and binds names to the defaults of missing
// arguments.
void CheckRun::CheckMissing() {
  for (size_t i = num_args_; i < program_.num_tensors; ++i) tensors_[i] = nullptr;
  for (size_t i = num_args_; i < program_.num_parameters; ++i) {
    const ArgumentCheck& check = program_.arguments[i];
    if (check.has_name && check.binds_default) {
      CheckExtent(check.name, registers_[check.value_register], 0);
    }
  }
}

void CheckRun::CheckValue(const ArgumentCheck& check, const TVMFFIAny& arg) {
  if (check.kind == ArgumentKind::kAny) return;
  if (check.may_be_none && arg.type_index == kTVMFFINone) {
    if (check.value_register != kNone) registers_[check.value_register] = 0;
  } else if (check.kind == ArgumentKind::kNumber) {
    CheckNumber(check, arg);
  } else if (check.kind == ArgumentKind::kUnsigned) {
    CheckUnsigned(check, arg);
  } else {
    if ((TypeBit(TypeIndexOf(arg)) & check.types) == 0) FailType(check, arg);
    if (check.value_register != kNone) registers_[check.value_register] = arg.v_int64;
  }
}

TVM_FFI_INLINE void CheckRun::CheckNumber(const ArgumentCheck& check, const TVMFFIAny& arg) {
  uint64_t type = TypeBit(arg.type_index) & check.types;
  if (TVM_FFI_PREDICT_FALSE(type == 0)) FailType(check, arg);
  int64_t number = arg.v_int64;  // for a float, the bit pattern of the double
  if ((type & (kIntBit | kBoolBit)) != 0) {
    if (TVM_FFI_PREDICT_FALSE(number < check.least || number > check.most)) {
      FailNumber(check.range_failure, number);
    }
    if (check.form == NumberForm::kDouble) {
      auto converted = static_cast<double>(number);
      std::memcpy(&number, &converted, sizeof(number));
    } else if (check.form == NumberForm::kTruth) {
      number = number != 0;
    }
  }
  if (check.value_register == kNone) return;
  registers_[check.value_register] = number;
  if (check.has_name) CheckExtent(check.name, number, 0);
}

// Checks an argument of type uint64.  Callers pass values of 2^63 and more as big integers.
void CheckRun::CheckUnsigned(const ArgumentCheck& check, const TVMFFIAny& arg) {
  int64_t number = arg.v_int64;
  if (arg.type_index == kTVMFFIInt) {
    if (number < 0) FailNumber(check.range_failure, number);
  } else {
    if (arg.type_index != kTVMFFIBigInt) FailType(check, arg);
    TVMFFIByteArray words = TVMFFIBigIntGetContentByteArray(&arg);
    static constexpr char kZeros[8] = {};
    if (words.size != 16 || std::memcmp(words.data + 8, kZeros, 8) != 0) FailType(check, arg);
    std::memcpy(&number, words.data, sizeof(number));
  }
  if (check.value_register == kNone) return;
  registers_[check.value_register] = number;
  // An extent is less than 2^63.
  if (check.has_name && number >= 0) CheckExtent(check.name, number, 0);
}

TVM_FFI_INLINE const DLTensor* CheckRun::ReadTensor(const ArgumentCheck& check,
                                                    const TVMFFIAny& arg) const {
  if (TVM_FFI_PREDICT_TRUE(arg.type_index == kTVMFFITensor)) {
    return reinterpret_cast<const DLTensor*>(arg.v_obj + 1);
  }
  if (arg.type_index == kTVMFFIDLTensorPtr && arg.v_ptr != nullptr) {
    return static_cast<const DLTensor*>(arg.v_ptr);
  }
  if (arg.type_index == kTVMFFINone && check.may_be_none) return nullptr;
  if (TypeIndexOf(arg) != kTVMFFITensor) FailType(check, arg);
  return reinterpret_cast<const DLTensor*>(*static_cast<TVMFFIObject**>(arg.v_ptr) + 1);
}

TVM_FFI_INLINE void CheckRun::CheckTensor(const ArgumentCheck& check, const DLTensor& tensor) {
  const uint32_t features = check.features;
  if ((features & ArgumentCheck::kNdim) != 0 && tensor.ndim != check.ndim) {
    FailNumber(check.ndim_failure, tensor.ndim);
  }
  if ((features & ArgumentCheck::kLeastNdim) != 0 && tensor.ndim < check.least_ndim) {
    FailNumber(check.ndim_failure, tensor.ndim);
  }
  if ((features & ArgumentCheck::kDtype) != 0 && !IsSame(tensor.dtype, check.dtype)) {
    FailDtype(check.dtype_failure, tensor.dtype, nullptr);
  }
  if ((features & ArgumentCheck::kDtypeSet) != 0) CheckDtypeSet(check, tensor.dtype);
  if ((features & ArgumentCheck::kDevice) != 0) CheckDevice(check, tensor.device);
  if ((features & ArgumentCheck::kNegative) != 0) CheckExtentsNotNegative(check, tensor);
  if ((features & ArgumentCheck::kLayout) != 0 &&
      TVM_FFI_PREDICT_FALSE(!IsCompact(tensor, check.free_dimensions))) {
    FailStrides(check.layout_failure, tensor);
  }
  if ((features & ArgumentCheck::kRepeats) != 0 &&
      TVM_FFI_PREDICT_FALSE(HasRepeatedElements(tensor))) {
    FailStrides(check.repeats_failure, tensor);
  }
  for (const ExtentCheck& extent : check.extents) {
    int32_t axis = extent.axis < 0 ? extent.axis + tensor.ndim : extent.axis;
    CheckExtent(extent, tensor.shape[axis], axis);
  }
  if ((features & ArgumentCheck::kAlignment) != 0) CheckAlignment(check, tensor);
  if ((features & ArgumentCheck::kAddress) != 0) CheckAddress(check, tensor);
}

TVM_FFI_INLINE void CheckRun::CheckExtentsNotNegative(const ArgumentCheck& check,
                                                      const DLTensor& tensor) const {
  for (int32_t axis = 0; axis < tensor.ndim; ++axis) {
    if (TVM_FFI_PREDICT_FALSE(tensor.shape[axis] < 0)) {
      FailNumber(check.negative_failure, tensor.shape[axis], 0, axis);
    }
  }
}

TVM_FFI_INLINE void CheckRun::CheckDevice(const ArgumentCheck& check, DLDevice got) const {
  bool has_id = check.device.device_id < 0 || got.device_id == check.device.device_id;
  if (got.device_type != check.device.device_type || !has_id) FailDevice(check.device_failure, got);
}

void CheckRun::CheckDtypeSet(const ArgumentCheck& check, DLDataType dtype) {
  const std::vector<DLDataType>& set = program_.dtype_sets[check.dtype_set];
  size_t index = 0;
  while (index < set.size() && !IsSame(set[index], dtype)) ++index;
  if (index == set.size()) FailDtype(check.dtype_failure, dtype, nullptr);
  if (check.dtype_register == kNone) return;
  // 1 + the index of the dtype in `set` that an earlier tensor has; 0 if there is no earlier
  // tensor.
  int64_t& known = registers_[check.dtype_register];
  int64_t got = static_cast<int64_t>(index) + 1;
  if (known != 0 && known != got) {
    auto expected = static_cast<uint64_t>(known - 1);
    FailDtype(check.variable_failure, dtype, expected < set.size() ? &set[expected] : nullptr);
  }
  known = got;
}

// Compares a value with a constant or with the value of a name of the signature, such as the extent
// `n`.  The first value that is found becomes the value of the name; later values must be equal.
TVM_FFI_INLINE void CheckRun::CheckExtent(const ExtentCheck& check, int64_t got, int32_t axis) {
  int64_t expected = check.constant;
  if (check.kind != ExtentKind::kConstant) {
    int64_t& value = registers_[check.value];
    bool stores = check.kind == ExtentKind::kStore ||
                  (check.kind == ExtentKind::kStoreOrEqual && registers_[check.known] == 0);
    if (stores) {
      value = got;
      if (check.known != kNone) registers_[check.known] = 1;
      return;
    }
    expected = value;
  }
  if (TVM_FFI_PREDICT_FALSE(got != expected)) FailNumber(check.failure, got, expected, axis);
}

TVM_FFI_INLINE void CheckRun::CheckAlignment(const ArgumentCheck& check,
                                             const DLTensor& tensor) const {
  uint64_t got = MisalignmentOf(tensor, check.alignment);
  if (TVM_FFI_PREDICT_TRUE(got == 0) || tensor.data == nullptr || IsEmpty(tensor)) return;
  FailNumber(check.alignment_failure, static_cast<int64_t>(got));
}

TVM_FFI_INLINE void CheckRun::CheckAddress(const ArgumentCheck& check,
                                           const DLTensor& tensor) const {
  uint32_t alignment = AlignmentOf(tensor.dtype);
  uint64_t got = MisalignmentOf(tensor, alignment);
  if (TVM_FFI_PREDICT_TRUE(tensor.data != nullptr && got == 0)) return;
  if (IsEmpty(tensor)) return;
  if (tensor.data == nullptr) Fail(check.null_failure, {});
  FailNumber(check.address_failure, static_cast<int64_t>(got), alignment);
}

// ---- Code ---------------------------------------------------------------------------------------

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
