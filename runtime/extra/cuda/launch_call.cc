// SPDX-License-Identifier: Apache-2.0
// Interpreter of launch programs: one case per operation, and the error messages of failed checks.
#include "cuda/launch_call.h"

#include <tvm/ffi/dtype.h>
#include <tvm/ffi/error.h>

#include <algorithm>
#include <cstring>

#include "cuda/arguments.h"

namespace tvm::ffi::extra::cuda {
namespace {

// Returns the type index of a value.  For an argument that is passed as a moved object reference,
// this is the type index of the object.
int32_t TypeIndexOf(const TVMFFIAny& arg) {
  if (arg.type_index != kTVMFFIObjectRValueRef) return arg.type_index;
  TVMFFIObject* object = *static_cast<TVMFFIObject**>(arg.v_ptr);
  return object == nullptr ? static_cast<int32_t>(kTVMFFINone) : object->type_index;
}

// Returns the Python name of a type for messages, such as "int"; nullptr for a type whose type key
// serves as its name.  ORDER words-of-types, see signature/_values.py.
const char* TypeNameOf(int32_t type_index) {
  switch (type_index) {
    case kTVMFFIOpaquePtr:
      return "ctypes.c_void_p";
    case kTVMFFIDataType:
      return "dtype";
    case kTVMFFIDLTensorPtr:
    case kTVMFFITensor:
      return "Tensor";
    case kTVMFFIRawStr:
    case kTVMFFISmallStr:
    case kTVMFFIStr:
      return "str";
    case kTVMFFIByteArrayPtr:
    case kTVMFFISmallBytes:
    case kTVMFFIBytes:
      return "bytes";
    case kTVMFFIObject:
    case kTVMFFIObjectRValueRef:
      return "Object";
    case kTVMFFIFunction:
      return "Callable";
    case kTVMFFIArray:
      return "Array";
    case kTVMFFIMap:
      return "Map";
    case kTVMFFIList:
      return "List";
    case kTVMFFIDict:
      return "Dict";
    case kTVMFFIBigInt:
      return "int of more than 64 bits";
    case kTVMFFIOpaquePyObject:
      return "Python object";
    default:
      return nullptr;
  }
}

std::string TypeNameOf(const TVMFFIAny& arg) {
  if (arg.type_index == kTVMFFIDLTensorPtr && arg.v_ptr == nullptr) return "NULL";
  int32_t index = TypeIndexOf(arg);
  if (const char* name = TypeNameOf(index)) return name;
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(index);
  if (info == nullptr) return "value of an unknown type";
  return std::string(info->type_key.data, info->type_key.size);
}

// Returns the index of a dtype in a dtype set (the accepted dtypes of a tensor) of a launch
// program.  Returns the size of the set if the dtype is not in the set.
size_t IndexInSet(const std::vector<DLDataType>& set, DLDataType dtype) {
  size_t index = 0;
  while (index < set.size() && !IsSame(set[index], dtype)) ++index;
  return index;
}

std::string DtypeText(DLDataType dtype) {
  if (dtype.code == kDLComplex) {  // TVMFFIDataTypeToString has no names for complex dtypes
    std::string lanes = dtype.lanes > 1 ? "x" + std::to_string(dtype.lanes) : std::string();
    return "complex" + std::to_string(dtype.bits) + lanes;
  }
  TVMFFIAny name;
  if (TVMFFIDataTypeToString(&dtype, &name) == 0) {
    return ffi::detail::AnyUnsafe::MoveTVMFFIAnyToAny(&name).cast<std::string>();
  }
  ffi::detail::MoveFromSafeCallRaised();
  return "an unnamed dtype";
}

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

void LaunchCall::Fail(uint32_t failure, const MessageValues& values) const {
  static constexpr const char* kKinds[] = {"TypeError", "ValueError", "RuntimeError"};
  const std::pair<std::string_view, const std::string*> placeholders[] = {
      {"{got}", &values.got},   {"{expected}", &values.expected},
      {"{axis}", &values.axis}, {"{device}", &values.device},
      {"{gpu}", &values.gpu},   {"{architecture}", &values.architecture},
  };
  const LaunchFailure& raised = program_.failures[failure];
  std::string_view text = raised.message;
  std::string filled;
  while (!text.empty()) {
    size_t taken = 1;
    std::string_view output = text.substr(0, 1);
    // "{{" and "}}" are escaped braces.
    if (text.substr(0, 2) == "{{" || text.substr(0, 2) == "}}") taken = 2;
    for (const auto& [placeholder, value] : placeholders) {
      bool is_next = taken == 1 && text.substr(0, placeholder.size()) == placeholder;
      if (is_next) taken = placeholder.size(), output = *value;
    }
    filled += output;
    text.remove_prefix(taken);
  }
  throw Error(kKinds[raised.kind], filled, TVMFFIBacktrace(nullptr, 0, nullptr, 0));
}

void LaunchCall::FailNumber(int64_t failure, int64_t got, int64_t expected, int64_t axis) const {
  MessageValues values;
  values.got = std::to_string(got);
  values.expected = std::to_string(expected);
  values.axis = std::to_string(axis);
  Fail(static_cast<uint32_t>(failure), values);
}

void LaunchCall::FailType(int64_t type_failure, int64_t bigint_failure,
                          const TVMFFIAny& arg) const {
  MessageValues values;
  values.got = TypeNameOf(arg);
  bool is_bigint = arg.type_index == kTVMFFIBigInt;
  Fail(static_cast<uint32_t>(is_bigint ? bigint_failure : type_failure), values);
}

void LaunchCall::FailDevice(int64_t failure, DLDevice got) const {
  MessageValues values;
  values.got = DeviceText(got);
  Fail(static_cast<uint32_t>(failure), values);
}

void LaunchCall::FailDtype(int64_t failure, DLDataType got, const std::string& expected) const {
  MessageValues values;
  values.got = DtypeText(got);
  values.expected = expected;
  Fail(static_cast<uint32_t>(failure), values);
}

// Throws the error for wrong strides.  The message shows the first kMaxShown strides as a Python
// tuple.
void LaunchCall::FailStrides(int64_t failure, const DLTensor& tensor) const {
  constexpr int32_t kMaxShown = 8;
  MessageValues values;
  for (int32_t i = 0; i < std::min(tensor.ndim, kMaxShown); ++i) {
    values.got += (i == 0 ? "(" : ", ") + std::to_string(tensor.strides[i]);
  }
  values.got += tensor.ndim > kMaxShown ? ", ...)" : tensor.ndim == 1 ? ",)" : ")";
  Fail(static_cast<uint32_t>(failure), values);
}

// ---- Reading and checking of arguments ----------------------------------------------------------

void LaunchCall::FailCount(size_t given) const {
  if (given < program_.missing_failures.size()) Fail(program_.missing_failures[given], {});
  FailNumber(given == 1 ? program_.too_many_singular : program_.too_many_plural, state_.num_args);
}

void LaunchCall::FailMissing(int64_t index) const {
  TVM_FFI_THROW(InternalError) << "launch program: argument index " << index
                               << " out of range, the call has " << state_.num_args << " arguments";
  TVM_FFI_UNREACHABLE();
}

const DLTensor* LaunchCall::ReadTensor(const int64_t* operands) const {
  const TVMFFIAny& arg = ArgumentAt(operands[0]);
  TVMFFIObject* object = arg.v_obj;
  if (arg.type_index == kTVMFFIDLTensorPtr && arg.v_ptr != nullptr) {
    return static_cast<const DLTensor*>(arg.v_ptr);
  }
  if (TypeIndexOf(arg) != kTVMFFITensor) FailType(operands[1], operands[2], arg);
  if (arg.type_index == kTVMFFIObjectRValueRef) object = *static_cast<TVMFFIObject**>(arg.v_ptr);
  return reinterpret_cast<const DLTensor*>(object + 1);
}

int64_t LaunchCall::ReadNumber(const int64_t* operands, int32_t accepted) const {
  const TVMFFIAny& arg = ArgumentAt(operands[0]);
  bool is_int = arg.type_index == kTVMFFIInt && (accepted & 1) != 0;
  bool is_bool = arg.type_index == kTVMFFIBool && (accepted & 2) != 0;
  if (!is_int && !is_bool) FailType(operands[2], operands[3], arg);
  return arg.v_int64;
}

// Reads an argument of type uint64.  Callers pass values of 2^63 and more as big integers.
int64_t LaunchCall::ReadUnsigned(const int64_t* operands) const {
  const TVMFFIAny& arg = ArgumentAt(operands[0]);
  if (arg.type_index == kTVMFFIInt) {
    if (arg.v_int64 < 0) FailNumber(operands[3], arg.v_int64);
    return arg.v_int64;
  }
  if (arg.type_index == kTVMFFIBigInt) {
    TVMFFIByteArray words = TVMFFIBigIntGetContentByteArray(&arg);
    static constexpr char kZeros[8] = {};
    if (words.size == 16 && std::memcmp(words.data + 8, kZeros, 8) == 0) {
      int64_t value;
      std::memcpy(&value, words.data, sizeof(value));
      return value;
    }
  }
  FailType(operands[1], operands[2], arg);
}

int64_t LaunchCall::ReadFloat(const int64_t* operands) const {
  const TVMFFIAny& arg = ArgumentAt(operands[0]);
  double number = arg.v_float64;
  bool is_bool = arg.type_index == kTVMFFIBool && (operands[1] & 2) != 0;
  if (arg.type_index == kTVMFFIInt || is_bool) {
    number = static_cast<double>(arg.v_int64);
  } else if (arg.type_index != kTVMFFIFloat) {
    FailType(operands[2], operands[3], arg);
  }
  int64_t bits;
  std::memcpy(&bits, &number, sizeof(bits));
  return bits;
}

int64_t LaunchCall::ReadPointer(const int64_t* operands) const {
  const TVMFFIAny& arg = ArgumentAt(operands[0]);
  if (arg.type_index != kTVMFFIOpaquePtr && arg.type_index != kTVMFFINone) {
    FailType(operands[1], operands[2], arg);
  }
  return static_cast<int64_t>(reinterpret_cast<intptr_t>(arg.v_ptr));
}

// ---- Checking of tensors ------------------------------------------------------------------------

// Converts an axis to an index from 0 on.  A negative axis counts from the last axis.  Throws if
// the tensor has no such axis: launch programs of tvm_ffi.codegen check the number of dimensions
// before they use an axis, but launch programs from other sources may not.
int32_t LaunchCall::AxisOf(const DLTensor& tensor, int64_t axis) const {
  if (axis < 0) axis += tensor.ndim;
  if (axis < 0 || axis >= tensor.ndim) {
    TVM_FFI_THROW(InternalError) << "launch program: axis " << axis
                                 << " out of range, the tensor has " << tensor.ndim
                                 << " dimensions";
  }
  return static_cast<int32_t>(axis);
}

void LaunchCall::CheckDtypeVariable(const DLTensor& tensor, const int64_t* operands) {
  const std::vector<DLDataType>& set = program_.dtype_sets[operands[1]];
  // The register: 1 + the index in `set` of the dtype of an earlier tensor; 0 if no earlier tensor
  // has the dtype variable.
  int64_t& known = state_.registers[operands[0]];
  size_t index = IndexInSet(set, tensor.dtype);
  if (index == set.size()) FailDtype(operands[2], tensor.dtype, "");
  int64_t got = static_cast<int64_t>(index) + 1;
  if (known != 0 && known != got) {
    size_t expected = static_cast<size_t>(known - 1);
    FailDtype(operands[3], tensor.dtype, expected < set.size() ? DtypeText(set[expected]) : "");
  }
  known = got;
}

void LaunchCall::CheckAddress(const DLTensor& tensor, const int64_t* operands) const {
  uintptr_t address = AddressOf(tensor);
  uint32_t alignment = AlignmentOf(tensor.dtype);
  if (tensor.data != nullptr && address % alignment == 0) return;
  if (IsEmpty(tensor)) return;
  if (tensor.data == nullptr) Fail(static_cast<uint32_t>(operands[0]), {});
  FailNumber(operands[1], static_cast<int64_t>(address % alignment), alignment);
}

void LaunchCall::CheckAlignment(const DLTensor& tensor, const int64_t* operands) const {
  uint64_t got = MisalignmentOf(tensor, static_cast<uint64_t>(operands[0]));
  if (got == 0 || tensor.data == nullptr || IsEmpty(tensor)) return;
  FailNumber(operands[1], static_cast<int64_t>(got));
}

// Compares a value with the value of a name in the signature, such as the extent `n`.  The first
// compared value becomes the value of the name; each later value must equal the value of the name.
void LaunchCall::Bind(int64_t got, const int64_t* operands, int64_t axis) {
  int64_t &value = state_.registers[operands[0]], &is_known = state_.registers[operands[1]];
  if (is_known == 0) {
    value = got;
    is_known = 1;
  } else if (value != got) {
    FailNumber(operands[2], got, value, axis);
  }
}

// ---- Interpreter loop ---------------------------------------------------------------------------

// Executes instructions up to kEnd.  For an argument that is None, the tensor slot is nullptr and
// the tensor checks are skipped.
void LaunchCall::Run(size_t start) {
  const int64_t* code = program_.code.data();
  const int64_t* at = code + start;
  int64_t* v = state_.registers;
  for (;;) {
    const int64_t* o = at + 1;  // operands
    switch (static_cast<Operation>(*at)) {
      case Operation::kEnd:
        return;
      case Operation::kJumpIfMissing:
        at = o[0] >= state_.num_args ? code + o[1] : o + 2;
        break;
      case Operation::kJumpIfNone:
        at = ArgumentAt(o[0]).type_index == kTVMFFINone ? code + o[1] : o + 2;
        break;
      case Operation::kJumpIfZero:
        at = v[o[0]] == 0 ? code + o[1] : o + 2;
        break;
      case Operation::kJumpIfNegative:
        at = v[o[0]] < 0 ? code + o[1] : o + 2;
        break;
      case Operation::kJumpIfNoTensor:
        at = state_.tensors[o[0]] == nullptr ? code + o[1] : o + 2;
        break;
      case Operation::kConstant:
        v[o[0]] = o[1];
        at = o + 2;
        break;
      case Operation::kTensor:
        state_.tensors[o[0]] = ReadTensor(o);
        at = o + 3;
        break;
      case Operation::kInteger:
        v[o[0]] = ReadNumber(o + 1, static_cast<int32_t>(o[2]));
        at = o + 5;
        break;
      case Operation::kUnsigned:
        v[o[0]] = ReadUnsigned(o + 1);
        at = o + 5;
        break;
      case Operation::kFloat:
        v[o[0]] = ReadFloat(o + 1);
        at = o + 5;
        break;
      case Operation::kPointer:
        v[o[0]] = ReadPointer(o + 1);
        at = o + 4;
        break;
      case Operation::kTruth:
        v[o[0]] = v[o[0]] != 0;
        at = o + 1;
        break;
      case Operation::kRange:
        if (v[o[0]] < o[1] || v[o[0]] > o[2]) FailNumber(o[3], v[o[0]]);
        at = o + 4;
        break;
      case Operation::kNdim:
        if (const DLTensor* t = state_.tensors[o[0]]; t != nullptr && t->ndim != o[1]) {
          FailNumber(o[2], t->ndim);
        }
        at = o + 3;
        break;
      case Operation::kNdimLeast:
        if (const DLTensor* t = state_.tensors[o[0]]; t != nullptr && t->ndim < o[1]) {
          FailNumber(o[2], t->ndim);
        }
        at = o + 3;
        break;
      case Operation::kDtype:
        if (const DLTensor* t = state_.tensors[o[0]]) {
          const std::vector<DLDataType>& set = program_.dtype_sets[o[1]];
          if (IndexInSet(set, t->dtype) == set.size()) FailDtype(o[2], t->dtype, "");
        }
        at = o + 3;
        break;
      case Operation::kDtypeVariable:
        if (const DLTensor* t = state_.tensors[o[0]]) CheckDtypeVariable(*t, o + 1);
        at = o + 5;
        break;
      case Operation::kDevice:
        if (const DLTensor* t = state_.tensors[o[0]]) {
          if (t->device.device_type != o[1] || (o[2] >= 0 && t->device.device_id != o[2])) {
            FailDevice(o[3], t->device);
          }
        }
        at = o + 4;
        break;
      case Operation::kLayout:
        if (const DLTensor* t = state_.tensors[o[0]]; t != nullptr && !IsCompact(*t)) {
          FailStrides(o[1], *t);
        }
        at = o + 2;
        break;
      case Operation::kExtentIs:
        if (const DLTensor* t = state_.tensors[o[0]]) {
          int32_t axis = AxisOf(*t, o[1]);
          if (t->shape[axis] != o[2]) FailNumber(o[3], t->shape[axis], o[2], axis);
        }
        at = o + 4;
        break;
      case Operation::kExtentBind:
        if (const DLTensor* t = state_.tensors[o[0]]) {
          int32_t axis = AxisOf(*t, o[1]);
          Bind(t->shape[axis], o + 2, axis);
        }
        at = o + 5;
        break;
      case Operation::kValueBind:
        Bind(v[o[0]], o + 1, 0);
        at = o + 4;
        break;
      case Operation::kExtentEquals:
        if (const DLTensor* t = state_.tensors[o[0]]) {
          int32_t axis = AxisOf(*t, o[1]);
          if (t->shape[axis] != v[o[2]]) FailNumber(o[3], t->shape[axis], v[o[2]], axis);
        }
        at = o + 4;
        break;
      case Operation::kAddress:
        if (const DLTensor* t = state_.tensors[o[0]]) CheckAddress(*t, o + 1);
        at = o + 3;
        break;
      case Operation::kSameDevice:
        if (const DLTensor *tensor = state_.tensors[o[0]], *first = state_.tensors[o[1]];
            tensor != nullptr && first != nullptr &&
            tensor->device.device_id != first->device.device_id) {
          FailNumber(o[2], tensor->device.device_id, first->device.device_id);
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
        if (const DLTensor* t = state_.tensors[o[1]]) v[o[0]] = SizeOf(*t);
        at = o + 2;
        break;
      case Operation::kNumDims:
        if (const DLTensor* t = state_.tensors[o[1]]) v[o[0]] = t->ndim;
        at = o + 2;
        break;
      case Operation::kDeviceNumber:
        if (const DLTensor* t = state_.tensors[o[1]]) v[o[0]] = t->device.device_id;
        at = o + 2;
        break;
      case Operation::kExtent:
        if (const DLTensor* t = state_.tensors[o[1]]) v[o[0]] = t->shape[AxisOf(*t, o[2])];
        at = o + 3;
        break;
      case Operation::kStride:
        if (const DLTensor* t = state_.tensors[o[1]]) v[o[0]] = StrideOf(*t, AxisOf(*t, o[2]));
        at = o + 3;
        break;
      case Operation::kAlignment:
        if (const DLTensor* t = state_.tensors[o[0]]) CheckAlignment(*t, o + 1);
        at = o + 3;
        break;
    }
  }
}

}  // namespace tvm::ffi::extra::cuda
