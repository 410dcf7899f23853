// SPDX-License-Identifier: Apache-2.0
// The checks of single arguments, and `pytvmffi.CheckFunction`: function objects that run a check
// program.
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "checks/program.h"
#include "checks/run.h"
#include "checks/tensor_properties.h"
#include "content/repr_text.h"
#include "registration.h"

namespace tvm::ffi::extra::checks {
namespace {

constexpr uint64_t kIntBit = uint64_t{1} << kTVMFFIInt, kBoolBit = uint64_t{1} << kTVMFFIBool;

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

// Copies nothing: a copy would load the fields, which the constructor has just stored, in wider
// words, and wait for the stores.
void CheckRun::Check() {
  if (TVM_FFI_PREDICT_FALSE(!PassesDirectly())) CheckArguments();
  if (program_.has_code) Execute(0);
}

TVM_FFI_INLINE void CheckRun::CheckAll() {
  if (TVM_FFI_PREDICT_FALSE(!PassesDirectly())) Copy().CheckArguments();
  if (program_.has_code) Copy().Execute(0);
}

TVM_FFI_INLINE bool CheckRun::PassesDirectly() const {
  const bool has_all = num_args_ == program_.num_parameters;
  return has_all && program_.is_direct && PassesDirectly(program_, args_, registers_, tensors_);
}

// Initialises the registers.  Copies of constant size compile to fewer instructions than a memcpy
// of unknown size.
TVM_FFI_INLINE void Initialise(const CheckProgram& program, int64_t* registers) {
  constexpr size_t kBlock = CheckProgram::kBlock;
  const int64_t *values = program.initial.data(), *end = values + program.initial.size();
  do {
    std::memcpy(registers, values, sizeof(int64_t[kBlock]));
    registers += kBlock;
    values += kBlock;
  } while (values != end);
}

// Returns true if the arguments, one per parameter of a direct program, certainly pass the checks.
// Then the registers and the tensor slots, unless `slots` is NULL, have their values.
TVM_FFI_INLINE bool CheckRun::PassesDirectly(const CheckProgram& program, const TVMFFIAny* args,
                                             int64_t* registers, const DLTensor** slots) {
  Initialise(program, registers);
  const TVMFFIAny* arg = args;
  for (const ArgumentCheck& check : program.arguments) {
    const DLTensor* tensor = nullptr;
    if (TVM_FFI_PREDICT_TRUE(check.is_direct)) {
      if (TVM_FFI_PREDICT_FALSE(arg->type_index != kTVMFFITensor)) return false;
      tensor = reinterpret_cast<const DLTensor*>(arg->v_obj + 1);
      if (TVM_FFI_PREDICT_FALSE(!IsAccepted(check, *tensor, registers))) return false;
    } else if ((TypeBit(arg->type_index) & check.trivial_types) == 0) {
      if (!check.Stores(*arg)) return false;
      registers[check.value_register] = registers[check.name.value] = arg->v_int64;
    }
    if (slots != nullptr) *slots++ = tensor;
    ++arg;
  }
  return true;
}

// Returns true if a tensor certainly passes its direct checks.  Then the registers of the names
// that the tensor determines have their values.
TVM_FFI_INLINE bool CheckRun::IsAccepted(const ArgumentCheck& check, const DLTensor& tensor,
                                         int64_t* registers) {
  if (TVM_FFI_PREDICT_FALSE(check.properties.DifferencesFrom(tensor) != 0)) return false;
  const int64_t* strides = check.layout == Layout::kAny ? nullptr : tensor.strides;
  uint64_t step = 1;  // unsigned, because extents from callers may overflow
  for (int64_t i = int64_t{tensor.ndim} - 1; i >= 0; --i) {
    const AxisCheck axis = check.axes[i];
    const int64_t extent = tensor.shape[i], expected = registers[axis.value];
    if (extent != expected) {
      if (TVM_FFI_PREDICT_FALSE(expected >= 0)) return false;
      registers[axis.out] = extent;
    }
    if (TVM_FFI_PREDICT_FALSE(extent < 0)) return false;
    if (strides != nullptr && static_cast<uint64_t>(strides[i]) != step && extent != 1)
      return false;
    step *= static_cast<uint64_t>(extent);
  }
  return tensor.data != nullptr && (AddressOf(tensor) & check.address_mask) == 0;
}

void CheckRun::CheckArguments() {
  const bool has_all = num_args_ == program_.num_parameters;
  if (!has_all) CheckCount();
  Initialise(program_, registers_);
  const ArgumentCheck* check = program_.arguments.data();
  const TVMFFIAny* arg = args_;
  const DLTensor** slot = tensors_;
  for (const TVMFFIAny* end = arg + num_args_; arg != end; ++arg, ++check, ++slot) {
    const DLTensor* tensor = nullptr;
    if (check->kind == ArgumentKind::kTensor) {
      tensor = TVM_FFI_PREDICT_TRUE(arg->type_index == kTVMFFITensor)
                   ? reinterpret_cast<const DLTensor*>(arg->v_obj + 1)
                   : ReadTensor(*check, *arg);
      if (TVM_FFI_PREDICT_TRUE(tensor != nullptr)) CheckTensor(*check, *tensor);
    } else if ((TypeBit(arg->type_index) & check->trivial_types) == 0) {
      CheckValue(*check, *arg);
    }
    *slot = tensor;
  }
  if (!has_all || program_.has_further_tensors) CheckMissing();
}

void CheckRun::CheckCount() const {
  if (num_args_ < program_.num_required) Fail(program_.missing_failures[num_args_], {});
  if (num_args_ <= program_.num_parameters) return;
  FailNumber(num_args_ == 1 ? program_.too_many_singular : program_.too_many_plural,
             static_cast<int32_t>(num_args_));  // negative if the caller passed a negative number
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
    if (check.form == NumberForm::kDouble || check.form == NumberForm::kSingle) {
      auto converted = static_cast<double>(number);
      std::memcpy(&number, &converted, sizeof(number));
    } else if (check.form == NumberForm::kTruth) {
      number = number != 0;
    }
  } else if (check.form == NumberForm::kSingle && !ffi::detail::FitsFloat<float>(arg.v_uint64)) {
    Fail(check.range_failure, {});
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
    if (check.extent_failure != kNone) Fail(check.extent_failure, {});
  }
  if (check.value_register == kNone) return;
  registers_[check.value_register] = number;
  if (check.has_name) CheckExtent(check.name, number, 0);
}

// Returns NULL if the tensor is omitted.
const DLTensor* CheckRun::ReadTensor(const ArgumentCheck& check, const TVMFFIAny& arg) const {
  if (arg.type_index == kTVMFFIDLTensorPtr && arg.v_ptr != nullptr) {
    return static_cast<const DLTensor*>(arg.v_ptr);
  }
  if (arg.type_index == kTVMFFINone && check.may_be_none) return nullptr;
  if (TypeIndexOf(arg) != kTVMFFITensor) FailType(check, arg);
  return reinterpret_cast<const DLTensor*>(*static_cast<TVMFFIObject**>(arg.v_ptr) + 1);
}

TVM_FFI_INLINE void CheckRun::CheckTensor(const ArgumentCheck& check, const DLTensor& tensor) {
  if (TVM_FFI_PREDICT_FALSE(!check.properties.IsTrueOf(tensor))) {
    Copy().CheckProperties(check, tensor);
  }
  if (TVM_FFI_PREDICT_FALSE(!HasUsualDimensions(check, tensor))) {
    Copy().CheckDimensions(check, tensor);
  }
  for (const ExtentCheck& extent : check.extents) {
    int32_t axis = extent.axis < 0 ? extent.axis + tensor.ndim : extent.axis;
    CheckExtent(extent, tensor.shape[axis], axis);
  }
  bool has_alignment = (AddressOf(tensor) & check.address_mask) == 0;
  if (TVM_FFI_PREDICT_FALSE(!has_alignment || tensor.data == nullptr)) {
    Copy().CheckAddress(check, tensor);
  }
}

void CheckRun::CheckProperties(const ArgumentCheck& check, const DLTensor& tensor) {
  bool is_short = tensor.ndim < check.least_ndim;
  if (check.ndim_failure != kNone && (is_short || tensor.ndim > check.most_ndim)) {
    FailNumber(check.ndim_failure, tensor.ndim);
  }
  if (check.dtype_set != kNone) CheckDtype(check, tensor.dtype);
  if (check.device_failure == kNone) return;
  DLDevice got = tensor.device, expected = check.device;
  bool has_id = expected.device_id < 0 || got.device_id == expected.device_id;
  if (got.device_type != expected.device_type || !has_id) FailDevice(check.device_failure, got);
}

// Returns true if the extents and strides certainly pass CheckDimensions: no extent is negative,
// and the tensor is compact if it must be.
TVM_FFI_INLINE bool CheckRun::HasUsualDimensions(const ArgumentCheck& check,
                                                 const DLTensor& tensor) {
  const int64_t *shape = tensor.shape, *strides = tensor.strides;
  int64_t signs = 0;  // negative if an extent is negative
  if (strides == nullptr || check.layout == Layout::kAny) {
    for (int32_t i = 0; i < tensor.ndim; ++i) signs |= shape[i];
    return signs >= 0;
  }
  if (TVM_FFI_PREDICT_FALSE(check.layout == Layout::kOther)) return false;
  uint64_t step = 1;  // unsigned, because extents from callers may overflow
  for (int32_t i = tensor.ndim; i-- > 0;) {
    if (static_cast<uint64_t>(strides[i]) != step && shape[i] != 1) return false;
    signs |= shape[i];
    step *= static_cast<uint64_t>(shape[i]);
  }
  return signs >= 0;
}

// Checks the extents for negative numbers, then the strides.
void CheckRun::CheckDimensions(const ArgumentCheck& check, const DLTensor& tensor) const {
  for (int32_t axis = 0; axis < tensor.ndim; ++axis) {
    if (tensor.shape[axis] < 0 && check.negative_failure != kNone) {
      FailNumber(check.negative_failure, tensor.shape[axis], 0, axis);
    }
  }
  if (check.layout_failure != kNone && !IsCompact(tensor, check.free_dimensions)) {
    FailStrides(check.layout_failure, tensor);
  }
  if (check.repeats_failure != kNone && HasRepeatedElements(tensor)) {
    FailStrides(check.repeats_failure, tensor);
  }
}

void CheckRun::CheckDtype(const ArgumentCheck& check, DLDataType dtype) {
  const std::vector<DLDataType>& set = program_.dtype_sets[check.dtype_set];
  size_t index = 0;
  while (index < set.size() && !IsSame(set[index], dtype)) ++index;
  if (index == set.size()) FailDtype(check.dtype_failure, dtype, nullptr);
  if (check.dtype_register == kNone) return;
  // 1 + the index of the dtype in `set` that an earlier tensor has; 0 before the first tensor.
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
  int64_t& value = registers_[check.value];
  if (check.kind == ExtentKind::kEqual ||
      (check.kind == ExtentKind::kStoreOrEqual && registers_[check.known] != 0)) {
    if (TVM_FFI_PREDICT_FALSE(got != value)) Copy().FailNumber(check.failure, got, value, axis);
    return;
  }
  value = got;
  if (check.kind == ExtentKind::kStoreOrEqual) registers_[check.known] = 1;
}

void CheckRun::CheckAddress(const ArgumentCheck& check, const DLTensor& tensor) const {
  if (IsEmpty(tensor)) return;
  if (check.alignment_failure != kNone && tensor.data != nullptr) {
    uint64_t got = MisalignmentOf(tensor, check.alignment);
    if (got != 0) FailNumber(check.alignment_failure, static_cast<int64_t>(got));
  }
  if (check.null_failure == kNone) return;
  if (tensor.data == nullptr) Fail(check.null_failure, {});
  uint32_t alignment = AlignmentOf(tensor.dtype);
  uint64_t got = MisalignmentOf(tensor, alignment);
  if (got != 0) FailNumber(check.address_failure, static_cast<int64_t>(got), alignment);
}

// ---- Function objects ---------------------------------------------------------------------------

// A function that raises an error unless the program accepts the arguments.  Then it calls another
// function, if it has one, or returns None.
class CheckFunctionObj : public FunctionObj {
 public:
  // callee: may be NULL
  CheckFunctionObj(CheckProgram program, ObjectPtr<FunctionObj> callee)
      : program_(std::move(program)), callee_(std::move(callee)) {
    const std::vector<ArgumentCheck>& arguments = program_.arguments;
    const bool is_short = program_.is_direct && !program_.has_code && callee_ == nullptr;
    const bool has_registers =
        std::any_of(arguments.begin(), arguments.end(),
                    [](const ArgumentCheck& check) { return check.is_direct || check.stores_int; });
    safe_call = CallWithHeap;
    if (CheckRun::NumSlots(program_) <= kNumStackWords) {
      safe_call = is_short ? CallDirectly : CallWithStack;
    }
    if (is_short && !has_registers) safe_call = CheckValues;
  }

 private:
  static constexpr size_t kNumStackWords = 64;

  // Calls of functions whose parameters are numbers and strings are short, so that even the
  // registers are noticeable.
  static int CheckValues(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
    auto* function = ffi::detail::ObjectUnsafe::RawObjectPtrFromUnowned<CheckFunctionObj>(
        static_cast<TVMFFIObject*>(self));
    if (TVM_FFI_PREDICT_TRUE(ValuesPassDirectly(function->program_, args, num_args))) return 0;
    return CallWithHeap(self, args, num_args, result);
  }
  // Programs of direct checks need no CheckRun, whose preparation is noticeable.
  static int CallDirectly(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
    auto* function = ffi::detail::ObjectUnsafe::RawObjectPtrFromUnowned<CheckFunctionObj>(
        static_cast<TVMFFIObject*>(self));
    const CheckProgram& program = function->program_;
    int64_t words[kNumStackWords];
    if (TVM_FFI_PREDICT_TRUE(static_cast<uint32_t>(num_args) == program.num_parameters)) {
      if (TVM_FFI_PREDICT_TRUE(CheckRun::PassesDirectly(program, args, words, nullptr))) return 0;
    }
    return CallWithHeap(self, args, num_args, result);
  }
  static int CallWithStack(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
    int64_t words[kNumStackWords];
    return Call(self, args, num_args, result, [&](size_t) { return words; });
  }
  TVM_FFI_NO_INLINE static int CallWithHeap(void* self, const TVMFFIAny* args, int32_t num_args,
                                            TVMFFIAny* result) {
    std::vector<int64_t> words;
    return Call(self, args, num_args, result, [&](size_t size) {
      words.resize(size);
      return words.data();
    });
  }
  template <typename Allocate>
  static int Call(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result,
                  Allocate&& allocate) {
    auto* function = ffi::detail::ObjectUnsafe::RawObjectPtrFromUnowned<CheckFunctionObj>(
        static_cast<TVMFFIObject*>(self));
    const CheckProgram& program = function->program_;
    try {
      CheckRun(program, args, num_args, allocate(CheckRun::NumSlots(program))).CheckAll();
    } catch (...) {
      return ffi::detail::RaiseCurrentException();
    }
    if (function->callee_ == nullptr) return 0;
    const FunctionObj* callee = function->callee_.get();
    return callee->safe_call(ffi::detail::ObjectUnsafe::GetHeader(callee), args, num_args, result);
  }

  CheckProgram program_;
  ObjectPtr<FunctionObj> callee_;
};

namespace {

CheckProgram Read(const Bytes& bytes) {
  ProgramReader reader(std::string_view(bytes.data(), bytes.size()), "check program");
  CheckProgram program = ReadCheckProgram(&reader);
  reader.RequireEnd();
  return program;
}

Function NewCheckFunction(const Bytes& bytes, const Optional<Function>& callee) {
  ObjectPtr<FunctionObj> function;
  if (callee.has_value()) {
    function = ffi::detail::ObjectUnsafe::ObjectPtrFromObjectRef<FunctionObj>(callee.value());
  }
  return Function(
      ObjectPtr<FunctionObj>(make_object<CheckFunctionObj>(Read(bytes), std::move(function))));
}

}  // namespace
}  // namespace tvm::ffi::extra::checks

namespace tvm::ffi::extra {

void RegisterCheckFunctions() {
  reflection::GlobalDef().def("pytvmffi.CheckFunction", &checks::NewCheckFunction);
}

}  // namespace tvm::ffi::extra
