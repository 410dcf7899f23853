// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch_program.h"

#include <tvm/ffi/error.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "cuda/launch_fast_path.h"
#include "module/byte_reader.h"

namespace tvm::ffi::extra::cuda {
namespace {

constexpr uint32_t kVersion = 1;
constexpr uint32_t kMaxRegisters = 1 << 20, kMaxTensors = 1 << 12;
constexpr uint32_t kMaxFlags = 7, kNumKinds = 3;

constexpr const char* kOperands[] = {
#define TVM_FFI_LAUNCH_OPERANDS_(name, operands) operands,
    TVM_FFI_LAUNCH_OPERATIONS(TVM_FFI_LAUNCH_OPERANDS_)
#undef TVM_FFI_LAUNCH_OPERANDS_
};
constexpr size_t kNumOperations = sizeof(kOperands) / sizeof(kOperands[0]);

// Reads and validates a launch program.  Each error message contains the byte offset of the invalid
// field.
class Reader {
 public:
  Reader(std::string_view bytes, size_t num_images) : bytes_(bytes), num_images_(num_images) {}

  LaunchProgram Read();

 private:
  [[noreturn]] void Fail(size_t position, const std::string& defect) const {
    TVM_FFI_THROW(ValueError) << "corrupt launch program at byte " << position << " of "
                              << bytes_.size() << ": " << defect;
    TVM_FFI_UNREACHABLE();
  }
  uint64_t Number(size_t width, const char* field) {
    if (std::optional<uint64_t> value = bytes_.TakeNumber(width)) return *value;
    Fail(bytes_.position(), std::string(field) + " truncated");
  }
  uint32_t Word(const char* field) { return static_cast<uint32_t>(Number(4, field)); }
  // Reads the number of the elements that follow.  Each element has at least `min_bytes` bytes.
  // Fails before memory for the elements is allocated if fewer bytes remain.
  size_t Count(size_t min_bytes, const char* elements) {
    size_t position = bytes_.position();
    uint64_t count = Number(8, elements);
    if (count > bytes_.num_left() / min_bytes) {
      Fail(position, std::to_string(count) + " " + elements + " do not fit into the remaining " +
                         std::to_string(bytes_.num_left()) + " bytes");
    }
    return static_cast<size_t>(count);
  }
  size_t NonzeroCount(size_t min_bytes, const char* elements) {
    size_t position = bytes_.position(), count = Count(min_bytes, elements);
    if (count == 0) Fail(position, std::string("expected ") + elements + ", got none");
    return count;
  }
  std::string Text(const char* elements) { return std::string(bytes_.Take(Count(1, elements))); }
  uint32_t Index(size_t count, const char* field, bool may_be_none = false) {
    size_t position = bytes_.position();
    uint32_t index = Word(field);
    bool is_valid = index < count || (may_be_none && index == kNone);
    if (!is_valid) Fail(position, std::string(field) + " out of range");
    return index;
  }
  uint32_t IndexOrNone(size_t count, const char* field) { return Index(count, field, true); }
  std::vector<uint32_t> Indices(size_t count, const char* elements, const char* field) {
    std::vector<uint32_t> indices(Count(4, elements));
    for (uint32_t& index : indices) index = Index(count, field);
    return indices;
  }
  uint32_t RegisterIndex() { return Index(program_.num_registers, "register index"); }
  uint32_t MessageIndex() { return Index(program_.failures.size(), "message index"); }

  void ReadSizes();
  uint32_t ReadSize(size_t max, const char* field);
  void ReadFailures();
  void ReadDtypes();
  void ReadMessageIndices();
  void ReadResults();
  void ReadVariant(LaunchVariant* variant);
  std::string ReadKernelName();
  uint32_t ReadStart(bool may_be_none);
  void ReadCode();
  void CheckCode();
  void CheckOperand(char kind, int64_t operand, size_t at);
  [[noreturn]] void FailInCode(size_t at, const char* defect) const {
    Fail(code_position_ + sizeof(int64_t) * at, defect);
  }

  ByteReader bytes_;
  size_t num_images_;
  LaunchProgram program_;
  // Per code address in the launch program: the byte offset of the field and the address.
  std::vector<std::pair<size_t, uint32_t>> starts_;
  size_t code_position_ = 0;  // byte offset of the first word of the code in the launch program
  // Per word of the code: true if an instruction begins there.
  std::vector<bool> begins_instruction_;
};

LaunchProgram Reader::Read() {
  ReadSizes();
  ReadFailures();
  ReadDtypes();
  ReadMessageIndices();
  ReadResults();
  program_.variants.resize(NonzeroCount(80, "launch variants"));
  for (LaunchVariant& variant : program_.variants) ReadVariant(&variant);
  ReadCode();
  CheckCode();
  if (bytes_.num_left() != 0) {
    Fail(bytes_.position(), std::to_string(bytes_.num_left()) + " bytes follow the code");
  }
  return std::move(program_);
}

uint32_t Reader::ReadSize(size_t max, const char* field) {
  size_t position = bytes_.position();
  uint32_t size = Word(field);
  if (size > max) Fail(position, std::string(field) + " out of range");
  return size;
}

void Reader::ReadSizes() {
  uint32_t version = Word("version");
  if (version != kVersion) {
    TVM_FFI_THROW(ValueError) << "unsupported launch program: expected version " << kVersion
                              << ", got " << version;
  }
  program_.num_arguments = ReadSize(kMaxTensors, "number of arguments");
  program_.num_results = ReadSize(kMaxTensors, "number of results");
  // Each register is named somewhere in the launch program, so the length of the launch program
  // bounds the number of registers.
  size_t max_registers = std::min<size_t>(kMaxRegisters, bytes_.size() / sizeof(uint32_t));
  program_.num_registers = ReadSize(max_registers, "number of registers");
}

void Reader::ReadFailures() {
  program_.failures.resize(Count(12, "messages"));
  for (LaunchFailure& failure : program_.failures) {
    failure.kind = Index(kNumKinds, "error kind");
    failure.message = Text("bytes of a message");
  }
}

void Reader::ReadDtypes() {
  program_.dtype_sets.resize(Count(8, "dtype sets"));
  for (std::vector<DLDataType>& set : program_.dtype_sets) {
    set.resize(NonzeroCount(4, "dtypes"));
    for (DLDataType& dtype : set) {
      dtype.code = static_cast<uint8_t>(Number(1, "dtype"));
      dtype.bits = static_cast<uint8_t>(Number(1, "dtype"));
      dtype.lanes = static_cast<uint16_t>(Number(2, "dtype"));
    }
  }
}

void Reader::ReadMessageIndices() {
  size_t position = bytes_.position();
  program_.missing_failures =
      Indices(program_.failures.size(), "messages for missing arguments", "message index");
  if (program_.missing_failures.size() > program_.num_arguments) {
    Fail(position, "more messages for missing arguments than arguments");
  }
  program_.too_many_singular = MessageIndex();
  program_.too_many_plural = MessageIndex();
  program_.first_tensor = IndexOrNone(program_.num_arguments, "index of the first tensor");
  program_.no_variant_failure = IndexOrNone(program_.failures.size(), "message index");
  program_.no_image_failure = MessageIndex();
}

void Reader::ReadResults() {
  size_t position = bytes_.position();
  program_.results.resize(Count(16, "results"));
  if (program_.results.size() != program_.num_results) {
    Fail(position, "expected " + std::to_string(program_.num_results) + " results, got " +
                       std::to_string(program_.results.size()));
  }
  for (LaunchResult& result : program_.results) {
    result.extent_registers = Indices(program_.num_registers, "extents", "register index");
    result.dtype_set = Index(program_.dtype_sets.size(), "dtype set index");
    result.dtype_register = IndexOrNone(program_.num_registers, "register index");
  }
}

std::string Reader::ReadKernelName() {
  size_t position = bytes_.position();
  std::string name = Text("bytes of a kernel name");
  if (name.empty()) Fail(position, "a kernel name is empty");
  if (name.find('\0') != std::string::npos) Fail(position, "a kernel name contains a NUL byte");
  return name;
}

// Reads a code address.  The code is after this field in the launch program, so CheckCode checks
// the address later.
uint32_t Reader::ReadStart(bool may_be_none) {
  size_t position = bytes_.position();
  uint32_t start = Word("code address");
  if (!may_be_none || start != kNone) starts_.emplace_back(position, start);
  return start;
}

void Reader::ReadVariant(LaunchVariant* variant) {
  size_t position = bytes_.position();
  variant->images = Indices(num_images_, "images", "image index");
  if (variant->images.empty()) Fail(position, "expected at least one device image, got none");
  variant->kernels.resize(NonzeroCount(8, "kernels"));
  for (std::string& kernel : variant->kernels) kernel = ReadKernelName();
  variant->kernel_register = IndexOrNone(program_.num_registers, "register index");
  variant->condition = ReadStart(true);
  variant->condition_result = RegisterIndex();
  variant->fields_start = ReadStart(false);
  for (uint32_t& field : variant->field_registers) field = RegisterIndex();
  variant->flags = Index(kMaxFlags + 1, "flags");
  variant->arguments.resize(Count(8, "kernel arguments"));
  for (LaunchArgument& argument : variant->arguments) {
    argument.kind = static_cast<LaunchArgumentKind>(Index(4, "argument kind"));
    bool is_tensor = argument.kind == LaunchArgumentKind::kTensor;
    argument.index = is_tensor ? Index(program_.NumTensors(), "tensor index") : RegisterIndex();
  }
}

void Reader::ReadCode() {
  program_.code.resize(NonzeroCount(8, "words of code"));
  code_position_ = bytes_.position();
  for (int64_t& word : program_.code) word = static_cast<int64_t>(Number(8, "code"));
}

void Reader::CheckCode() {
  const std::vector<int64_t>& code = program_.code;
  begins_instruction_.assign(code.size() + 1, false);
  std::vector<size_t> jumps;  // offsets in `code` of the operands that are jump targets
  size_t at = 0;
  while (at < code.size()) {
    begins_instruction_[at] = true;
    if (code[at] < 0 || static_cast<size_t>(code[at]) >= kNumOperations) {
      FailInCode(at, "operation out of range");
    }
    const char* operands = kOperands[code[at]];
    for (++at; *operands != '\0'; ++operands, ++at) {
      if (at >= code.size()) FailInCode(at, "the last instruction is truncated");
      CheckOperand(*operands, code[at], at);
      if (*operands == 'J') jumps.push_back(at);
    }
  }
  // The last instruction must be kEnd, so that every path through the launch program ends.
  size_t last = code.size() - 1;
  if (code[last] != 0 || !begins_instruction_[last]) FailInCode(last, "expected the end operation");
  for (size_t jump : jumps) {
    if (!begins_instruction_[static_cast<size_t>(code[jump])]) {
      FailInCode(jump, "the target of a jump is not the start of an instruction");
    }
  }
  for (const auto& [position, start] : starts_) {
    if (start >= code.size() || !begins_instruction_[start]) {
      Fail(position, "code address is not the start of an instruction");
    }
  }
}

void Reader::CheckOperand(char kind, int64_t operand, size_t at) {
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
      count = program_.NumTensors();
      defect = "tensor index out of range";
      break;
    case 'A':
      count = program_.num_arguments;
      defect = "argument index out of range";
      break;
    case 'F':
      count = program_.failures.size();
      defect = "message index out of range";
      break;
    case 'D':
      count = program_.dtype_sets.size();
      defect = "dtype set index out of range";
      break;
    default:  // 'J'; CheckCode also checks that an instruction begins at the target
      if (operand <= static_cast<int64_t>(at)) FailInCode(at, "backward jump");
      count = program_.code.size();
      defect = "jump target out of range";
  }
  if (operand < 0 || static_cast<uint64_t>(operand) >= count) FailInCode(at, defect);
}

}  // namespace

const char* OperandsOf(Operation operation) { return kOperands[static_cast<size_t>(operation)]; }

LaunchProgram ReadLaunchProgram(std::string_view bytes, size_t num_images) {
  LaunchProgram program = Reader(bytes, num_images).Read();
  BuildFastPath(&program);
  return program;
}

}  // namespace tvm::ffi::extra::cuda
