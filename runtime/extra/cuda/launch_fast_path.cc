// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch_fast_path.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tvm::ffi::extra::cuda {
namespace {

// An instruction of a launch program: an operation and its operands.
struct Instruction {
  Operation operation;
  const char* kinds;  // one letter for the kind of each operand, see launch_program.h
  const int64_t* operands;

  Instruction(const std::vector<int64_t>& code, size_t at)
      : operation(static_cast<Operation>(code[at])),
        kinds(OperandsOf(operation)),
        operands(code.data() + at + 1) {}

  size_t Size() const { return 1 + std::strlen(kinds); }
  uint32_t index(size_t i) const { return static_cast<uint32_t>(operands[i]); }
};

// ---- Hoisting of constants ----------------------------------------------------------------------

// Removes the constant instructions of a launch program and makes their values the initial values
// of their registers.  A constant is hoisted if no earlier instruction uses its register and no
// jump skips the instruction.
class ConstantHoister {
 public:
  explicit ConstantHoister(LaunchProgram* program)
      : program_(*program), new_offsets_(program->code.size()) {
    program_.initial.assign(program_.num_registers, 0);
    is_used_.resize(program_.num_registers);
  }

  void Hoist() {
    for (size_t at = 0; at < program_.code.size();) {
      Instruction instruction(program_.code, at);
      new_offsets_[at] = code_.size();
      if (!HoistConstant(instruction, at)) Copy(instruction);
      at += instruction.Size();
    }
    for (size_t jump : jumps_) code_[jump] = NewOffset(code_[jump]);
    for (LaunchVariant& variant : program_.variants) {
      if (variant.condition != kNone) {
        variant.condition = static_cast<uint32_t>(NewOffset(variant.condition));
      }
      variant.fields_start = static_cast<uint32_t>(NewOffset(variant.fields_start));
    }
    program_.code = std::move(code_);
  }

 private:
  bool HoistConstant(const Instruction& instruction, size_t at) {
    if (instruction.operation != Operation::kConstant || at < furthest_jump_) return false;
    uint32_t index = instruction.index(0);
    if (is_used_[index]) return false;
    is_used_[index] = true;
    program_.initial[index] = instruction.operands[1];
    return true;
  }

  void Copy(const Instruction& instruction) {
    code_.push_back(static_cast<int64_t>(instruction.operation));
    for (size_t i = 0; instruction.kinds[i] != '\0'; ++i) {
      if (instruction.kinds[i] == 'V') is_used_[instruction.index(i)] = true;
      if (instruction.kinds[i] == 'J') {
        jumps_.push_back(code_.size());
        furthest_jump_ = std::max(furthest_jump_, static_cast<size_t>(instruction.operands[i]));
      }
      code_.push_back(instruction.operands[i]);
    }
  }

  int64_t NewOffset(int64_t offset) const {
    return static_cast<int64_t>(new_offsets_[static_cast<size_t>(offset)]);
  }

  LaunchProgram& program_;
  std::vector<int64_t> code_;
  // The new offset of each instruction, indexed by its old offset.
  std::vector<size_t> new_offsets_;
  std::vector<size_t> jumps_;  // offsets of jump-target operands in the new code
  std::vector<bool> is_used_;  // per register: true if an earlier instruction uses the register
  size_t furthest_jump_ = 0;   // the largest target of the jumps read so far
};

// ---- Derivation of quick checks -----------------------------------------------------------------

// Translates the leading instructions of a launch program to quick checks, up to the first
// instruction without an equivalent quick check.
class QuickChecksBuilder {
 public:
  explicit QuickChecksBuilder(LaunchProgram* program)
      : program_(*program), quick_(program->quick), tensors_(program->NumTensors(), kNone) {}

  void Build() {
    while (size_t size = AddNext()) quick_.end += static_cast<uint32_t>(size);
    quick_.is_complete = static_cast<Operation>(program_.code[quick_.end]) == Operation::kEnd;
  }

 private:
  size_t AddNext();
  size_t AddOptional(size_t at);
  bool AddArgument(const Instruction& instruction, const Omission& omission);
  void Remove(const Instruction& read);
  bool AddToNumber(const Instruction& instruction, bool is_guarded);
  bool AddToTensor(const Instruction& instruction);
  bool AddDtypes(const Instruction& instruction, TensorCheck* check) const;
  static bool AddExtent(const Instruction& instruction, TensorCheck* check);

  const LaunchProgram& program_;
  QuickChecks& quick_;
  std::vector<uint32_t> tensors_;  // per tensor: index of its check in quick_.tensors, or kNone
};

// Translates the next instructions of the launch program, which begin at the offset quick_.end, to
// quick checks and adds the quick checks to quick_.  Returns the size of these instructions in
// words; 0 if no quick check exists for the next instruction.
size_t QuickChecksBuilder::AddNext() {
  Instruction next(program_.code, quick_.end);
  switch (next.operation) {
    case Operation::kJumpIfMissing:
    case Operation::kJumpIfNone:
      return AddOptional(quick_.end);
    case Operation::kTensor:
    case Operation::kInteger:
    case Operation::kFloat:
      return AddArgument(next, {}) ? next.Size() : 0;
    case Operation::kRange:
    case Operation::kTruth:
    case Operation::kValueBind:
      return AddToNumber(next, false) ? next.Size() : 0;
    case Operation::kSameDevice:
      quick_.same_devices.push_back({next.index(0), next.index(1)});
      return next.Size();
    default:
      return next.kinds[0] == 'T' && AddToTensor(next) ? next.Size() : 0;
  }
}

// Adds the quick check of an optional argument.  It replaces the jumps that skip an omitted
// argument, and the instructions up to the target of these jumps.
size_t QuickChecksBuilder::AddOptional(size_t at) {
  const size_t begin = at;
  const int64_t argument = Instruction(program_.code, at).operands[0];
  const auto end = static_cast<size_t>(Instruction(program_.code, at).operands[1]);
  Omission omission;
  for (;;) {
    Instruction jump(program_.code, at);
    bool is_missing = jump.operation == Operation::kJumpIfMissing;
    if (!is_missing && jump.operation != Operation::kJumpIfNone) break;
    if (jump.operands[0] != argument || static_cast<size_t>(jump.operands[1]) != end) return 0;
    (is_missing ? omission.may_be_missing : omission.may_be_none) = true;
    at += jump.Size();
  }
  Instruction read(program_.code, at);
  bool is_number = read.operation == Operation::kInteger || read.operation == Operation::kFloat;
  if (!is_number && read.operation != Operation::kTensor) return 0;
  if (read.operands[is_number ? 1 : 0] != argument) return 0;
  if (!AddArgument(read, omission)) return 0;
  for (at += read.Size(); at < end;) {
    Instruction next(program_.code, at);
    bool is_limit = next.operation == Operation::kRange || next.operation == Operation::kTruth;
    if (is_number && is_limit && AddToNumber(next, true)) {
      at += next.Size();
    } else {
      Remove(read);
      return 0;
    }
  }
  return end - begin;
}

bool QuickChecksBuilder::AddArgument(const Instruction& instruction, const Omission& omission) {
  if (instruction.operation == Operation::kTensor) {
    uint32_t tensor = instruction.index(0);
    if (tensors_[tensor] != kNone) return false;
    tensors_[tensor] = static_cast<uint32_t>(quick_.tensors.size());
    quick_.tensors.emplace_back();
    quick_.tensors.back().argument = tensor;
    quick_.tensors.back().omission = omission;
    return true;
  }
  NumberCheck check;
  check.register_index = instruction.index(0);
  check.argument = instruction.index(1);
  check.omission = omission;
  check.is_float = instruction.operation == Operation::kFloat;
  check.takes_int = check.is_float || (instruction.operands[2] & 1) != 0;
  check.takes_bool = (instruction.operands[2] & 2) != 0;
  quick_.numbers.push_back(check);
  return true;
}

void QuickChecksBuilder::Remove(const Instruction& read) {
  if (read.operation != Operation::kTensor) return quick_.numbers.pop_back();
  tensors_[read.index(0)] = kNone;
  quick_.tensors.pop_back();
}

// Adds the condition that the instruction checks to the last quick check in quick_.numbers. Returns
// false if a quick check of a number cannot express the condition.
bool QuickChecksBuilder::AddToNumber(const Instruction& instruction, bool is_guarded) {
  if (quick_.numbers.empty()) return false;
  NumberCheck& check = quick_.numbers.back();
  bool is_same = instruction.index(0) == check.register_index;
  if (!is_same || check.is_float || check.is_bound) return false;
  if (instruction.operation == Operation::kValueBind) {
    check.is_bound = true;
    check.value_register = instruction.index(1);
    check.known_register = instruction.index(2);
    return true;
  }
  // Quick checks skip omitted arguments.  If no jump skips the check of an argument, the check also
  // applies to the default value of the omitted argument, and a quick check cannot express it.
  bool is_optional = check.omission.may_be_missing || check.omission.may_be_none;
  if ((is_optional && !is_guarded) || check.is_truth) return false;
  if (instruction.operation == Operation::kTruth) {
    check.is_truth = true;
  } else {
    check.min = std::max(check.min, instruction.operands[1]);
    check.max = std::min(check.max, instruction.operands[2]);
  }
  return true;
}

// Adds the condition that the instruction checks to the quick check of its tensor.  Returns false
// if the check does not exist or already has a condition of this kind.
bool QuickChecksBuilder::AddToTensor(const Instruction& instruction) {
  if (tensors_[instruction.index(0)] == kNone) return false;
  TensorCheck& check = quick_.tensors[tensors_[instruction.index(0)]];
  const int64_t* o = instruction.operands;
  switch (instruction.operation) {
    case Operation::kNdim:
      if (check.ndim != TensorCheck::kAny || o[1] < 0 || o[1] > INT32_MAX) return false;
      check.ndim = static_cast<int32_t>(o[1]);
      return true;
    case Operation::kDtype:
    case Operation::kDtypeVariable:
      return AddDtypes(instruction, &check);
    case Operation::kDevice:
      if (check.device_type != TensorCheck::kAny) return false;
      if (o[1] < 0 || o[1] > INT32_MAX || o[2] > INT32_MAX) return false;
      check.device_type = static_cast<int32_t>(o[1]);
      if (o[2] >= 0) check.device_id = static_cast<int32_t>(o[2]);
      return true;
    case Operation::kLayout:
      return !std::exchange(check.is_compact, true);
    case Operation::kAddress:
      return !std::exchange(check.has_address, true);
    case Operation::kAlignment:
      if (check.alignment != 1 || o[1] < 2) return false;
      check.alignment = static_cast<uint64_t>(o[1]);
      return true;
    case Operation::kExtentIs:
    case Operation::kExtentBind:
      return AddExtent(instruction, &check);
    default:
      return false;
  }
}

bool QuickChecksBuilder::AddDtypes(const Instruction& instruction, TensorCheck* check) const {
  bool is_variable = instruction.operation == Operation::kDtypeVariable;
  if (check->dtypes != nullptr) return false;
  // Borrow the dtype set from the launch program instead of copying it, because the checks of many
  // tensors may share a large set.
  const std::vector<DLDataType>& set = program_.dtype_sets[instruction.index(is_variable ? 2 : 1)];
  check->dtypes = set.data();
  check->num_dtypes = set.size();
  check->is_variable = is_variable;
  if (is_variable) check->dtype_register = instruction.index(1);
  return true;
}

bool QuickChecksBuilder::AddExtent(const Instruction& instruction, TensorCheck* check) {
  int64_t axis = instruction.operands[1];
  if (axis < 0) axis += std::max(check->ndim, 0);
  if (axis < 0 || axis >= check->ndim) return false;
  TensorCheck::Extent extent{};
  extent.axis = static_cast<int32_t>(axis);
  extent.is_constant = instruction.operation == Operation::kExtentIs;
  if (extent.is_constant) {
    extent.constant = instruction.operands[2];
  } else {
    extent.value_register = instruction.index(2);
    extent.known_register = instruction.index(3);
  }
  check->extents.push_back(extent);
  return true;
}

size_t InBlocks(size_t count) {
  constexpr size_t kBlock = LaunchProgram::kBlock;
  return (count + kBlock - 1) / kBlock * kBlock;
}

void CountWords(LaunchProgram* program) {
  program->initial.resize(InBlocks(program->initial.size()));
  for (const LaunchVariant& variant : program->variants) {
    program->max_kernel_arguments =
        std::max(program->max_kernel_arguments, variant.arguments.size());
  }
  program->num_words =
      program->initial.size() + InBlocks(program->NumTensors()) + 2 * program->max_kernel_arguments;
}

}  // namespace

void BuildFastPath(LaunchProgram* program) {
  ConstantHoister(program).Hoist();
  QuickChecksBuilder(program).Build();
  CountWords(program);
}

}  // namespace tvm::ffi::extra::cuda
