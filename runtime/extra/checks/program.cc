// SPDX-License-Identifier: Apache-2.0
#include "checks/program.h"

#include <tvm/ffi/error.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "checks/tensor_properties.h"

namespace tvm::ffi::extra::checks {

// ---- Words of a program -------------------------------------------------------------------------

void ProgramReader::Fail(size_t position, const std::string& defect) const {
  TVM_FFI_THROW(ValueError) << "corrupt " << name_ << " at byte " << position << " of "
                            << bytes_.size() << ": " << defect;
  TVM_FFI_UNREACHABLE();
}

int64_t ProgramReader::Word(const char* field) {
  if (std::optional<uint64_t> value = bytes_.TakeNumber(sizeof(int64_t))) {
    return static_cast<int64_t>(*value);
  }
  Fail(bytes_.position(), std::string(field) + " truncated");
}

int64_t ProgramReader::Between(int64_t least, int64_t most, const char* field) {
  size_t position = bytes_.position();
  int64_t value = Word(field);
  if (value < least || value > most) Fail(position, std::string(field) + " out of range");
  return value;
}

size_t ProgramReader::Count(size_t min_bytes, const char* elements) {
  size_t position = bytes_.position();
  auto count = static_cast<uint64_t>(Word(elements));
  if (count > bytes_.num_left() / min_bytes) {
    Fail(position, std::to_string(count) + " " + elements + " do not fit into the remaining " +
                       std::to_string(bytes_.num_left()) + " bytes");
  }
  return static_cast<size_t>(count);
}

size_t ProgramReader::NonzeroCount(size_t min_bytes, const char* elements) {
  size_t position = bytes_.position(), count = Count(min_bytes, elements);
  if (count == 0) Fail(position, std::string("expected ") + elements + ", got none");
  return count;
}

std::string ProgramReader::Text(const char* elements) {
  return std::string(bytes_.Take(Count(1, elements)));
}

uint32_t ProgramReader::Index(size_t count, const char* field) {
  return static_cast<uint32_t>(Between(0, static_cast<int64_t>(count) - 1, field));
}

uint32_t ProgramReader::IndexOrNone(size_t count, const char* field) {
  return static_cast<uint32_t>(Between(-1, static_cast<int64_t>(count) - 1, field));
}

std::vector<uint32_t> ProgramReader::Indices(size_t count, const char* elements,
                                             const char* field) {
  std::vector<uint32_t> indices(Count(sizeof(int64_t), elements));
  for (uint32_t& index : indices) index = Index(count, field);
  return indices;
}

void ProgramReader::RequireEnd() const {
  if (bytes_.num_left() == 0) return;
  Fail(bytes_.position(), std::to_string(bytes_.num_left()) + " bytes follow the program");
}

// ---- Check programs -----------------------------------------------------------------------------

namespace {

constexpr int64_t kVersion = 1;
constexpr int64_t kMaxTensors = 1 << 12;
constexpr size_t kWord = sizeof(int64_t);

constexpr const char* kOperands[] = {
#define TVM_FFI_CHECK_OPERANDS_(name, operands) operands,
    TVM_FFI_CHECK_OPERATIONS(TVM_FFI_CHECK_OPERANDS_)
#undef TVM_FFI_CHECK_OPERANDS_
};
constexpr size_t kNumOperations = sizeof(kOperands) / sizeof(kOperands[0]);

class CheckReader {
 public:
  explicit CheckReader(ProgramReader* reader) : reader_(*reader) {}

  CheckProgram Read();

 private:
  void ReadTables();
  void ReadArgument(size_t index, ArgumentCheck* check);
  void ReadNumber(ArgumentCheck* check);
  void ReadName(ArgumentCheck* check);
  void ReadTensor(ArgumentCheck* check);
  void ReadExtent(ExtentCheck* check);
  static void DeriveTrivialTypes(ArgumentCheck* check);
  void DeriveProperties(ArgumentCheck* check) const;
  void DeriveAddressMask(ArgumentCheck* check) const;
  void DeriveAxes(ArgumentCheck* check);
  void ReadCode();
  void ValidateCode(size_t position);
  void ValidateOperand(char kind, int64_t operand, size_t at, size_t position);
  uint32_t Message() { return reader_.Index(program_.failures.size(), "message index"); }
  uint32_t MessageOrNone() {
    return reader_.IndexOrNone(program_.failures.size(), "message index");
  }
  uint32_t Register() { return reader_.Index(program_.num_registers, "register index"); }
  uint32_t RegisterOrNone() {
    return reader_.IndexOrNone(program_.num_registers, "register index");
  }

  ProgramReader& reader_;
  CheckProgram program_;
  // Initial values of the registers after num_registers, see CheckProgram::num_registers.
  std::vector<int64_t> constants_ = {0, kUnknown};
};

CheckProgram CheckReader::Read() {
  int64_t version = reader_.Word("version");
  if (version != kVersion) {
    TVM_FFI_THROW(ValueError) << "unsupported check program: expected version " << kVersion
                              << ", got " << version;
  }
  program_.num_parameters =
      static_cast<uint32_t>(reader_.Between(0, kMaxTensors, "number of parameters"));
  program_.num_tensors = program_.num_parameters;
  program_.num_tensors +=
      static_cast<uint32_t>(reader_.Between(0, kMaxTensors, "number of further tensor slots"));
  program_.has_further_tensors = program_.num_tensors != program_.num_parameters;
  ReadTables();
  program_.arguments.resize(program_.num_parameters);
  for (size_t i = 0; i < program_.arguments.size(); ++i) {
    ReadArgument(i, &program_.arguments[i]);
    DeriveTrivialTypes(&program_.arguments[i]);
  }
  program_.is_direct =
      !program_.has_further_tensors &&
      std::all_of(program_.arguments.begin(), program_.arguments.end(), [](const ArgumentCheck& c) {
        return c.is_direct || c.stores_int || c.trivial_types != 0;
      });
  program_.initial.insert(program_.initial.end(), constants_.begin(), constants_.end());
  constexpr size_t kBlock = CheckProgram::kBlock;
  program_.initial.resize((program_.initial.size() + kBlock - 1) / kBlock * kBlock);
  ReadCode();
  return std::move(program_);
}

void CheckReader::ReadTables() {
  program_.initial.resize(reader_.Count(kWord, "registers"));
  for (int64_t& value : program_.initial) value = reader_.Word("initial value of a register");
  program_.num_registers = static_cast<uint32_t>(program_.initial.size());
  program_.failures.resize(reader_.Count(2 * kWord, "messages"));
  for (Failure& failure : program_.failures) {
    failure.kind = reader_.Index(3, "error kind");
    failure.message = reader_.Text("bytes of a message");
  }
  program_.dtype_sets.resize(reader_.Count(2 * kWord, "dtype sets"));
  for (std::vector<DLDataType>& set : program_.dtype_sets) {
    set.resize(reader_.NonzeroCount(kWord, "dtypes"));
    for (DLDataType& dtype : set) {
      auto bits = static_cast<uint32_t>(reader_.Between(0, UINT32_MAX, "dtype"));
      dtype.code = static_cast<uint8_t>(bits);
      dtype.bits = static_cast<uint8_t>(bits >> 8);
      dtype.lanes = static_cast<uint16_t>(bits >> 16);
    }
  }
  size_t position = reader_.position();
  program_.missing_failures =
      reader_.Indices(program_.failures.size(), "messages for missing arguments", "message index");
  if (program_.missing_failures.size() > program_.num_parameters) {
    reader_.Fail(position, "more messages for missing arguments than parameters");
  }
  program_.num_required = static_cast<uint32_t>(program_.missing_failures.size());
  program_.too_many_singular = Message();
  program_.too_many_plural = Message();
}

void CheckReader::ReadArgument(size_t index, ArgumentCheck* check) {
  check->kind = static_cast<ArgumentKind>(reader_.Index(5, "kind of an argument"));
  size_t position = reader_.position();
  uint32_t omission = reader_.Index(4, "omission of an argument");
  check->may_be_missing = (omission & 1) != 0;
  check->may_be_none = (omission & 2) != 0;
  // Only then may the checks of an argument rely on its presence.
  if (!check->may_be_missing && index >= program_.missing_failures.size()) {
    reader_.Fail(position, "no message for a missing argument");
  }
  check->type_failure = Message();
  check->bigint_failure = Message();
  check->value_register = check->range_failure = kNone;
  switch (check->kind) {
    case ArgumentKind::kAny:
      return;
    case ArgumentKind::kTypes:
      check->types = static_cast<uint64_t>(reader_.Word("types"));
      check->value_register = RegisterOrNone();
      return;
    case ArgumentKind::kNumber:
      return ReadNumber(check);
    case ArgumentKind::kUnsigned:
      check->value_register = RegisterOrNone();
      check->range_failure = Message();
      check->extent_failure = MessageOrNone();
      return ReadName(check);
    case ArgumentKind::kTensor:
      return ReadTensor(check);
  }
}

void CheckReader::ReadNumber(ArgumentCheck* check) {
  check->types = static_cast<uint64_t>(reader_.Word("types"));
  check->value_register = RegisterOrNone();
  check->form = static_cast<NumberForm>(reader_.Index(4, "form of a number"));
  check->least = reader_.Word("smallest number");
  size_t position = reader_.position();
  check->most = reader_.Word("largest number");
  check->range_failure = MessageOrNone();
  bool has_range =
      check->least != INT64_MIN || check->most != INT64_MAX || check->form == NumberForm::kSingle;
  if (has_range && check->range_failure == kNone)
    reader_.Fail(position, "a range without a message");
  ReadName(check);
}

void CheckReader::ReadName(ArgumentCheck* check) {
  size_t position = reader_.position();
  check->has_name = reader_.Index(2, "use as an extent") != 0;
  if (!check->has_name) return;
  if (check->value_register == kNone) reader_.Fail(position, "an extent without a register");
  ReadExtent(&check->name);
  check->binds_default = reader_.Index(2, "use of the default as an extent") != 0;
}

void CheckReader::ReadTensor(ArgumentCheck* check) {
  auto ndim = static_cast<int32_t>(reader_.Between(INT32_MIN, INT32_MAX, "number of dimensions"));
  check->ndim_failure = MessageOrNone();
  bool has_ndim = check->ndim_failure != kNone;
  check->least_ndim = !has_ndim ? 0 : ndim < 0 ? -1 - ndim : ndim;
  check->most_ndim = has_ndim && ndim >= 0 ? ndim : INT32_MAX;
  check->dtype_set = reader_.IndexOrNone(program_.dtype_sets.size(), "dtype set index");
  check->dtype_register = RegisterOrNone();
  check->dtype_failure = MessageOrNone();
  check->variable_failure = MessageOrNone();
  check->device.device_type =
      static_cast<DLDeviceType>(reader_.Between(0, INT32_MAX, "device type"));
  check->device.device_id = static_cast<int32_t>(reader_.Between(-1, INT32_MAX, "device id"));
  check->device_failure = MessageOrNone();
  check->negative_failure = MessageOrNone();
  check->free_dimensions =
      static_cast<int32_t>(reader_.Between(-INT32_MAX, INT32_MAX, "number of dimensions"));
  check->layout_failure = MessageOrNone();
  check->repeats_failure = MessageOrNone();
  bool is_compact = check->layout_failure != kNone && check->free_dimensions == 0;
  bool is_any = check->layout_failure == kNone && check->repeats_failure == kNone;
  check->layout = is_compact ? Layout::kCompact : is_any ? Layout::kAny : Layout::kOther;
  check->extents.resize(reader_.Count(5 * kWord, "extents"));
  for (ExtentCheck& extent : check->extents) {
    size_t position = reader_.position();
    ReadExtent(&extent);
    // Dimension checks precede the checks of extents, so that these need not compare the axis.
    bool is_valid =
        extent.axis < 0 ? -extent.axis <= check->least_ndim : extent.axis < check->least_ndim;
    if (!is_valid) reader_.Fail(position, "axis out of range");
  }
  size_t position = reader_.position();
  check->alignment = static_cast<uint64_t>(reader_.Between(1, 1 << 30, "alignment"));
  if ((check->alignment & (check->alignment - 1)) != 0) {
    reader_.Fail(position, "alignment is not a power of two");
  }
  check->alignment_failure = MessageOrNone();
  if (check->alignment_failure == kNone) check->alignment = 1;
  position = reader_.position();
  check->null_failure = MessageOrNone();
  check->address_failure = MessageOrNone();
  bool has_dtype_messages = check->dtype_set == kNone || check->dtype_failure != kNone;
  bool has_variable = check->dtype_register == kNone ||
                      (check->dtype_set != kNone && check->variable_failure != kNone);
  bool has_address_messages = (check->null_failure == kNone) == (check->address_failure == kNone);
  if (!has_dtype_messages || !has_variable || !has_address_messages) {
    reader_.Fail(position, "a check without a message");
  }
  DeriveProperties(check);
  DeriveAddressMask(check);
  DeriveAxes(check);
}

void CheckReader::DeriveTrivialTypes(ArgumentCheck* check) {
  constexpr uint64_t kNoneBit = uint64_t{1} << kTVMFFINone;
  bool has_range =
      check->kind == ArgumentKind::kNumber &&
      (check->least != INT64_MIN || check->most != INT64_MAX || check->form == NumberForm::kSingle);
  bool stores = check->kind != ArgumentKind::kTensor && check->value_register != kNone;
  check->trivial_types = 0;
  if (check->kind == ArgumentKind::kAny) check->trivial_types = ~uint64_t{0};
  if (check->kind == ArgumentKind::kTypes || check->kind == ArgumentKind::kNumber) {
    if (!stores && !has_range) check->trivial_types = check->types;
  }
  check->stores_int = check->kind == ArgumentKind::kNumber && stores && !has_range &&
                      check->form == NumberForm::kInteger &&
                      (!check->has_name || check->name.kind == ExtentKind::kStore);
  if (check->stores_int && !check->has_name) check->name.value = check->value_register;
  bool is_tensor = check->kind == ArgumentKind::kTensor;
  if (check->may_be_none && !stores && !is_tensor) check->trivial_types |= kNoneBit;
}

void CheckReader::DeriveProperties(ArgumentCheck* check) const {
  DLTensor masks{}, bits{};
  bool has_more = false;
  if (check->device_failure != kNone) {
    std::memset(&masks.device.device_type, 0xff, sizeof(masks.device.device_type));
    masks.device.device_id = check->device.device_id < 0 ? 0 : -1;
    bits.device = check->device;
  }
  if (check->ndim_failure != kNone) {
    masks.ndim = -1;
    bits.ndim = check->least_ndim;
    has_more |= check->least_ndim != check->most_ndim;
  }
  if (check->dtype_set != kNone) {
    const std::vector<DLDataType>& set = program_.dtype_sets[check->dtype_set];
    bits.dtype = set[0];
    std::memset(&masks.dtype, 0xff, sizeof(masks.dtype));
    // The dtypes of other tensors may determine the dtype of this one.
    has_more |= set.size() != 1 || check->dtype_register != kNone;
  }
  TensorProperties* properties = &check->properties;
  std::memcpy(properties->masks, &masks.device, sizeof(properties->masks));
  std::memcpy(properties->bits, &bits.device, sizeof(properties->bits));
  properties->has_more = has_more ? 1 : 0;
}

void CheckReader::DeriveAddressMask(ArgumentCheck* check) const {
  uint64_t alignment = 1;
  if (check->null_failure != kNone && check->dtype_set == kNone) alignment = kMaxElementAlignment;
  if (check->null_failure != kNone && check->dtype_set != kNone) {
    for (DLDataType dtype : program_.dtype_sets[check->dtype_set]) {
      alignment = std::max<uint64_t>(alignment, AlignmentOf(dtype));
    }
  }
  check->address_mask = std::max(alignment, check->alignment) - 1;
}

void CheckReader::DeriveAxes(ArgumentCheck* check) {
  check->is_direct = !check->may_be_none && check->properties.has_more == 0 &&
                     check->ndim_failure != kNone && check->least_ndim <= ArgumentCheck::kMaxAxes &&
                     check->layout != Layout::kOther;
  if (!check->is_direct) return;
  const AxisCheck unchecked = {program_.num_registers, program_.num_registers + 1};
  std::fill(std::begin(check->axes), std::end(check->axes), unchecked);
  for (const ExtentCheck& extent : check->extents) {
    int32_t index = extent.axis < 0 ? extent.axis + check->least_ndim : extent.axis;
    AxisCheck* axis = &check->axes[index];
    bool is_only_check = axis->value == unchecked.value;
    check->is_direct &= is_only_check && extent.kind != ExtentKind::kStoreOrEqual;
    *axis = {extent.value, extent.value};
    if (extent.kind == ExtentKind::kStore) program_.initial[extent.value] = kUnknown;
  }
}

void CheckReader::ReadExtent(ExtentCheck* check) {
  check->axis = static_cast<int32_t>(reader_.Between(-kMaxTensors, INT32_MAX, "axis"));
  check->kind = static_cast<ExtentKind>(reader_.Index(4, "kind of an extent"));
  if (check->kind == ExtentKind::kConstant) {
    constants_.push_back(reader_.Word("extent"));
    check->value = program_.num_registers + static_cast<uint32_t>(constants_.size()) - 1;
  } else {
    check->value = Register();
  }
  check->known = RegisterOrNone();
  if (check->kind == ExtentKind::kStoreOrEqual && check->known == kNone) {
    reader_.Fail(reader_.position(), "an extent without a register");
  }
  // The flag of the first extent of a name is 0, so the check of such an extent stores the value.
  if (check->kind == ExtentKind::kStore && check->known != kNone) {
    check->kind = ExtentKind::kStoreOrEqual;
  }
  if (check->kind == ExtentKind::kConstant) check->kind = ExtentKind::kEqual;
  check->failure = Message();
}

void CheckReader::ReadCode() {
  program_.code.resize(reader_.NonzeroCount(kWord, "words of code"));
  size_t position = reader_.position();
  for (int64_t& word : program_.code) word = reader_.Word("code");
  program_.has_code = static_cast<Operation>(program_.code[0]) != Operation::kEnd;
  ValidateCode(position);
}

void CheckReader::ValidateCode(size_t position) {
  const std::vector<int64_t>& code = program_.code;
  program_.begins_instruction.assign(code.size() + 1, false);
  std::vector<size_t> jumps;  // offsets in `code` of the operands that are jump targets
  size_t at = 0;
  while (at < code.size()) {
    program_.begins_instruction[at] = true;
    if (code[at] < 0 || static_cast<size_t>(code[at]) >= kNumOperations) {
      reader_.Fail(position + kWord * at, "operation out of range");
    }
    const char* operands = kOperands[code[at]];
    for (++at; *operands != '\0'; ++operands, ++at) {
      if (at >= code.size())
        reader_.Fail(position + kWord * at, "the last instruction is truncated");
      ValidateOperand(*operands, code[at], at, position + kWord * at);
      if (*operands == 'J') jumps.push_back(at);
    }
  }
  // The last instruction must be kEnd, so that every path through the program ends.
  size_t last = code.size() - 1;
  if (code[last] != 0 || !program_.begins_instruction[last]) {
    reader_.Fail(position + kWord * last, "expected the end operation");
  }
  for (size_t jump : jumps) {
    if (!program_.begins_instruction[static_cast<size_t>(code[jump])]) {
      reader_.Fail(position + kWord * jump,
                   "the target of a jump is not the start of an instruction");
    }
  }
}

void CheckReader::ValidateOperand(char kind, int64_t operand, size_t at, size_t position) {
  size_t count = 0;
  const char* defect = nullptr;
  switch (kind) {
    case 'N':
      return;
    case 'V':
      count = program_.num_registers;
      defect = "register index out of range";
      break;
    case 'T':
      count = program_.num_tensors;
      defect = "tensor index out of range";
      break;
    case 'F':
      count = program_.failures.size();
      defect = "message index out of range";
      break;
    default:  // 'J'; ValidateCode also checks that an instruction begins at the target
      if (operand <= static_cast<int64_t>(at)) reader_.Fail(position, "backward jump");
      count = program_.code.size();
      defect = "jump target out of range";
  }
  if (operand < 0 || static_cast<uint64_t>(operand) >= count) reader_.Fail(position, defect);
}

}  // namespace

const char* OperandsOf(Operation operation) { return kOperands[static_cast<size_t>(operation)]; }

CheckProgram ReadCheckProgram(ProgramReader* reader) { return CheckReader(reader).Read(); }

}  // namespace tvm::ffi::extra::checks
