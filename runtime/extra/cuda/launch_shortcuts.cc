// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch_shortcuts.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tvm::ffi::extra::cuda {
namespace {

// An instruction of a program.
struct Instruction {
  Operation operation;
  const char* kinds;  // of the operands
  const int64_t* operands;

  Instruction(const std::vector<int64_t>& code, size_t at)
      : operation(static_cast<Operation>(code[at])),
        kinds(OperandsOf(operation)),
        operands(code.data() + at + 1) {}

  size_t Size() const { return 1 + std::strlen(kinds); }
  uint32_t place(size_t i) const { return static_cast<uint32_t>(operands[i]); }
};

// ---- Constants ----------------------------------------------------------------------------------

// Takes out the instructions that put a constant into a register, where the register may as well
// hold it from the beginning: nothing has mentioned it before, and no jump passes over it.
class ConstantTaker {
 public:
  explicit ConstantTaker(LaunchProgram* program)
      : program_(*program), new_places_(program->code.size()) {
    program_.initial.assign(program_.num_registers, 0);
    is_mentioned_.resize(program_.num_registers);
  }

  void Take() {
    for (size_t at = 0; at < program_.code.size();) {
      Instruction instruction(program_.code, at);
      new_places_[at] = code_.size();
      if (!TakeOne(instruction, at)) Copy(instruction);
      at += instruction.Size();
    }
    for (size_t jump : jumps_) code_[jump] = NewPlace(code_[jump]);
    for (LaunchWay& way : program_.launches) {
      if (way.condition != kNone) way.condition = static_cast<uint32_t>(NewPlace(way.condition));
      way.numbers = static_cast<uint32_t>(NewPlace(way.numbers));
    }
    program_.code = std::move(code_);
  }

 private:
  bool TakeOne(const Instruction& instruction, size_t at) {
    if (instruction.operation != Operation::kConstant || at < furthest_) return false;
    uint32_t place = instruction.place(0);
    if (is_mentioned_[place]) return false;
    is_mentioned_[place] = true;
    program_.initial[place] = instruction.operands[1];
    return true;
  }

  void Copy(const Instruction& instruction) {
    code_.push_back(static_cast<int64_t>(instruction.operation));
    for (size_t i = 0; instruction.kinds[i] != '\0'; ++i) {
      if (instruction.kinds[i] == 'V') is_mentioned_[instruction.place(i)] = true;
      if (instruction.kinds[i] == 'J') {
        jumps_.push_back(code_.size());
        furthest_ = std::max(furthest_, static_cast<size_t>(instruction.operands[i]));
      }
      code_.push_back(instruction.operands[i]);
    }
  }

  int64_t NewPlace(int64_t place) const {
    return static_cast<int64_t>(new_places_[static_cast<size_t>(place)]);
  }

  LaunchProgram& program_;
  std::vector<int64_t> code_;
  std::vector<size_t> new_places_;  // of the instructions
  std::vector<size_t> jumps_;       // operands in the new code
  std::vector<bool> is_mentioned_;  // registers
  size_t furthest_ = 0;             // where jumps so far go on
};

// ---- Quick checks -------------------------------------------------------------------------------

// Reads quick checks off the beginning of a program.
class QuickChecksReader {
 public:
  explicit QuickChecksReader(LaunchProgram* program)
      : program_(*program), quick_(program->quick), tensors_(program->NumTensors(), kNone) {}

  void Read() {
    while (size_t size = ReadNext()) quick_.end += static_cast<uint32_t>(size);
    quick_.is_all = static_cast<Operation>(program_.code[quick_.end]) == Operation::kEnd;
  }

 private:
  size_t ReadNext();
  size_t ReadGuarded(size_t at);
  bool ReadArgument(const Instruction& instruction, const Omission& omission);
  void Forget(const Instruction& read);
  bool AddToNumber(const Instruction& instruction, bool is_guarded);
  bool AddToTensor(const Instruction& instruction);
  bool AddDtypes(const Instruction& instruction, TensorCheck* check) const;
  static bool AddExtent(const Instruction& instruction, TensorCheck* check);

  const LaunchProgram& program_;
  QuickChecks& quick_;
  std::vector<uint32_t> tensors_;  // the place of each tensor's check, or kNone
};

// The number of words that are understood now; 0 at the end, and where nothing is.
size_t QuickChecksReader::ReadNext() {
  Instruction next(program_.code, quick_.end);
  switch (next.operation) {
    case Operation::kJumpIfMissing:
    case Operation::kJumpIfNone:
      return ReadGuarded(quick_.end);
    case Operation::kTensor:
    case Operation::kInteger:
    case Operation::kFloat:
      return ReadArgument(next, {}) ? next.Size() : 0;
    case Operation::kRange:
    case Operation::kTruth:
    case Operation::kValueBind:
      return AddToNumber(next, false) ? next.Size() : 0;
    case Operation::kSameDevice:
      quick_.same_devices.push_back({next.place(0), next.place(1)});
      return next.Size();
    default:
      return next.kinds[0] == 'T' && AddToTensor(next) ? next.Size() : 0;
  }
}

// An argument that may be left out: jumps, and what is read otherwise, up to where they go on.
size_t QuickChecksReader::ReadGuarded(size_t at) {
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
  if (!ReadArgument(read, omission)) return 0;
  for (at += read.Size(); at < end;) {
    Instruction next(program_.code, at);
    bool is_limit = next.operation == Operation::kRange || next.operation == Operation::kTruth;
    if (is_number && is_limit && AddToNumber(next, true)) {
      at += next.Size();
    } else {
      Forget(read);
      return 0;
    }
  }
  return end - begin;
}

bool QuickChecksReader::ReadArgument(const Instruction& instruction, const Omission& omission) {
  if (instruction.operation == Operation::kTensor) {
    uint32_t tensor = instruction.place(0);
    if (tensors_[tensor] != kNone) return false;
    tensors_[tensor] = static_cast<uint32_t>(quick_.tensors.size());
    quick_.tensors.emplace_back();
    quick_.tensors.back().argument = tensor;
    quick_.tensors.back().omission = omission;
    return true;
  }
  NumberCheck check;
  check.place = instruction.place(0);
  check.argument = instruction.place(1);
  check.omission = omission;
  check.is_float = instruction.operation == Operation::kFloat;
  check.takes_int = check.is_float || (instruction.operands[2] & 1) != 0;
  check.takes_bool = (instruction.operands[2] & 2) != 0;
  quick_.numbers.push_back(check);
  return true;
}

void QuickChecksReader::Forget(const Instruction& read) {
  if (read.operation != Operation::kTensor) return quick_.numbers.pop_back();
  tensors_[read.place(0)] = kNone;
  quick_.tensors.pop_back();
}

// Adds what is said of the number that was read last.
bool QuickChecksReader::AddToNumber(const Instruction& instruction, bool is_guarded) {
  if (quick_.numbers.empty()) return false;
  NumberCheck& check = quick_.numbers.back();
  if (instruction.place(0) != check.place || check.is_float || check.is_bound) return false;
  if (instruction.operation == Operation::kValueBind) {
    check.is_bound = true;
    check.value = instruction.place(1);
    check.is_known = instruction.place(2);
    return true;
  }
  // What takes the place of an argument that is left out is not looked at.
  bool may_be_left_out = check.omission.may_be_missing || check.omission.may_be_none;
  if ((may_be_left_out && !is_guarded) || check.is_truth) return false;
  if (instruction.operation == Operation::kTruth) {
    check.is_truth = true;
  } else {
    check.least = std::max(check.least, instruction.operands[1]);
    check.most = std::min(check.most, instruction.operands[2]);
  }
  return true;
}

// Adds what is said of a tensor that has been read, each kind of check once.
bool QuickChecksReader::AddToTensor(const Instruction& instruction) {
  if (tensors_[instruction.place(0)] == kNone) return false;
  TensorCheck& check = quick_.tensors[tensors_[instruction.place(0)]];
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

bool QuickChecksReader::AddDtypes(const Instruction& instruction, TensorCheck* check) const {
  bool is_variable = instruction.operation == Operation::kDtypeVariable;
  if (check->dtypes != nullptr) return false;
  // Not a copy: the checks of many tensors may have one large set.
  const std::vector<DLDataType>& set = program_.dtypes[instruction.place(is_variable ? 2 : 1)];
  check->dtypes = set.data();
  check->num_dtypes = set.size();
  check->is_variable = is_variable;
  if (is_variable) check->variable = instruction.place(1);
  return true;
}

bool QuickChecksReader::AddExtent(const Instruction& instruction, TensorCheck* check) {
  int64_t axis = instruction.operands[1];
  if (axis < 0) axis += std::max(check->ndim, 0);
  if (axis < 0 || axis >= check->ndim) return false;
  TensorCheck::Extent extent{};
  extent.axis = static_cast<int32_t>(axis);
  extent.is_constant = instruction.operation == Operation::kExtentIs;
  if (extent.is_constant) {
    extent.constant = instruction.operands[2];
  } else {
    extent.value = instruction.place(2);
    extent.is_known = instruction.place(3);
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
  for (const LaunchWay& way : program->launches) {
    program->most_arguments = std::max(program->most_arguments, way.arguments.size());
  }
  program->num_words =
      program->initial.size() + InBlocks(program->NumTensors()) + 2 * program->most_arguments;
}

}  // namespace

void AddShortcuts(LaunchProgram* program) {
  ConstantTaker(program).Take();
  QuickChecksReader(program).Read();
  CountWords(program);
}

}  // namespace tvm::ffi::extra::cuda
