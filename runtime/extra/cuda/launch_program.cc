// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch_program.h"

#include <tvm/ffi/error.h>

#include <optional>

#include "cuda/launch_shortcuts.h"
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

class Reader {
 public:
  Reader(std::string_view bytes, size_t num_images) : bytes_(bytes), num_images_(num_images) {}

  LaunchProgram Read();

 private:
  [[noreturn]] void Refuse(const char* what) const {
    TVM_FFI_THROW(ValueError) << "launch program: " << what << " before byte " << bytes_.position()
                              << " of " << bytes_.size() << " cannot be right";
    TVM_FFI_UNREACHABLE();
  }
  uint64_t Number(size_t width, const char* what) {
    if (std::optional<uint64_t> value = bytes_.TakeNumber(width)) return *value;
    Refuse(what);
  }
  uint32_t Word(const char* what) { return static_cast<uint32_t>(Number(4, what)); }
  // A number of items of at least `least_bytes` each, so that nobody makes room for more.
  size_t Count(size_t least_bytes, const char* what) {
    uint64_t count = Number(8, what);
    if (count > bytes_.num_left() / least_bytes) Refuse(what);
    return static_cast<size_t>(count);
  }
  std::string Text(const char* what) { return std::string(bytes_.Take(Count(1, what))); }
  // A place among `count` things.
  uint32_t Place(size_t count, const char* what) {
    uint32_t place = Word(what);
    if (place >= count) Refuse(what);
    return place;
  }
  uint32_t PlaceOrNone(size_t count, const char* what) {
    uint32_t place = Word(what);
    if (place != kNone && place >= count) Refuse(what);
    return place;
  }
  std::vector<uint32_t> Places(size_t count, const char* what) {
    std::vector<uint32_t> places(Count(4, what));
    for (uint32_t& place : places) place = Place(count, what);
    return places;
  }

  void ReadSizes();
  void ReadFailures();
  void ReadDtypes();
  void ReadResults();
  void ReadWay(LaunchWay* way);
  void ReadCode();
  void CheckCode();
  void CheckOperand(char kind, int64_t operand, size_t at);
  void CheckStart(uint32_t start);

  ByteReader bytes_;
  size_t num_images_;
  LaunchProgram program_;
  std::vector<bool> begins_;  // whether an instruction begins at a word
};

LaunchProgram Reader::Read() {
  ReadSizes();
  ReadFailures();
  ReadDtypes();
  program_.missing = Places(program_.failures.size(), "what is said of missing arguments");
  if (program_.missing.size() > program_.num_arguments) Refuse("the number of missing arguments");
  program_.too_many_one = Place(program_.failures.size(), "what is said of an argument too many");
  program_.too_many = Place(program_.failures.size(), "what is said of too many arguments");
  program_.first_tensor = PlaceOrNone(program_.num_arguments, "the first tensor");
  program_.no_launch = PlaceOrNone(program_.failures.size(), "what is said when nothing is meant");
  program_.no_image = Place(program_.failures.size(), "what is said without an image");
  ReadResults();
  program_.launches.resize(Count(80, "the number of launches"));
  if (program_.launches.empty()) Refuse("the number of launches");
  for (LaunchWay& way : program_.launches) ReadWay(&way);
  ReadCode();
  CheckCode();
  if (bytes_.num_left() != 0) Refuse("what stands at the end");
  return std::move(program_);
}

void Reader::ReadSizes() {
  uint32_t version = Word("the version");
  if (version != kVersion) {
    TVM_FFI_THROW(ValueError) << "launch program: it has version " << version
                              << ", and this runtime reads version " << kVersion;
  }
  program_.num_arguments = Word("the number of arguments");
  program_.num_results = Word("the number of results");
  program_.num_registers = Word("the number of registers");
  // Each register is named somewhere, so that nobody makes room for more.
  if (program_.num_arguments > kMaxTensors || program_.num_results > kMaxTensors ||
      program_.num_registers > kMaxRegisters ||
      program_.num_registers > bytes_.size() / sizeof(uint32_t)) {
    Refuse("a size");
  }
}

void Reader::ReadFailures() {
  program_.failures.resize(Count(12, "the number of failures"));
  for (LaunchFailure& failure : program_.failures) {
    failure.kind = Place(kNumKinds, "the kind of a failure");
    failure.text = Text("the text of a failure");
  }
}

void Reader::ReadDtypes() {
  program_.dtypes.resize(Count(8, "the number of sets of dtypes"));
  for (std::vector<DLDataType>& set : program_.dtypes) {
    set.resize(Count(4, "a set of dtypes"));
    if (set.empty()) Refuse("a set of dtypes");
    for (DLDataType& dtype : set) {
      dtype.code = static_cast<uint8_t>(Number(1, "a dtype"));
      dtype.bits = static_cast<uint8_t>(Number(1, "a dtype"));
      dtype.lanes = static_cast<uint16_t>(Number(2, "a dtype"));
    }
  }
}

void Reader::ReadResults() {
  program_.results.resize(Count(16, "the number of results"));
  if (program_.results.size() != program_.num_results) Refuse("the number of results");
  for (LaunchResult& result : program_.results) {
    result.extents = Places(program_.num_registers, "an extent of a result");
    result.dtypes = Place(program_.dtypes.size(), "the dtypes of a result");
    result.dtype_place = PlaceOrNone(program_.num_registers, "the dtype of a result");
  }
}

void Reader::ReadWay(LaunchWay* way) {
  way->images = Places(num_images_, "an image of a launch");
  if (way->images.empty()) Refuse("the images of a launch");
  way->kernels.resize(Count(8, "the kernels of a launch"));
  if (way->kernels.empty()) Refuse("the kernels of a launch");
  for (std::string& kernel : way->kernels) {
    kernel = Text("the name of a kernel");
    if (kernel.empty() || kernel.find('\0') != std::string::npos) Refuse("the name of a kernel");
  }
  way->kernel_place = PlaceOrNone(program_.num_registers, "the choice of a kernel");
  way->condition = Word("the condition of a launch");
  way->is_meant = Place(program_.num_registers, "the condition of a launch");
  way->numbers = Word("the numbers of a launch");
  for (uint32_t& field : way->fields) {
    field = Place(program_.num_registers, "the numbers of a launch");
  }
  way->flags = Place(kMaxFlags + 1, "the flags of a launch");
  way->arguments.resize(Count(8, "the arguments of a launch"));
  for (LaunchArgument& argument : way->arguments) {
    argument.kind = static_cast<LaunchArgumentKind>(Place(4, "the kind of an argument"));
    bool is_tensor = argument.kind == LaunchArgumentKind::kTensor;
    argument.place =
        Place(is_tensor ? program_.NumTensors() : program_.num_registers, "an argument");
  }
}

void Reader::ReadCode() {
  program_.code.resize(Count(8, "the code"));
  for (int64_t& word : program_.code) word = static_cast<int64_t>(Number(8, "the code"));
}

void Reader::CheckCode() {
  const std::vector<int64_t>& code = program_.code;
  begins_.assign(code.size() + 1, false);
  std::vector<size_t> targets;
  size_t at = 0;
  while (at < code.size()) {
    begins_[at] = true;
    if (code[at] < 0 || static_cast<size_t>(code[at]) >= kNumOperations) Refuse("an operation");
    const char* operands = kOperands[code[at]];
    for (++at; *operands != '\0'; ++operands, ++at) {
      if (at >= code.size()) Refuse("an operation");
      CheckOperand(*operands, code[at], at);
      if (*operands == 'J') targets.push_back(static_cast<size_t>(code[at]));
    }
  }
  // The last instruction ends what nothing else has ended.
  if (code.empty() || code.back() != 0 || !begins_[code.size() - 1]) Refuse("the end of the code");
  for (size_t target : targets) {
    if (!begins_[target]) Refuse("a jump");
  }
  for (const LaunchWay& way : program_.launches) {
    if (way.condition != kNone) CheckStart(way.condition);
    CheckStart(way.numbers);
  }
}

void Reader::CheckStart(uint32_t start) {
  if (start >= program_.code.size() || !begins_[start]) Refuse("where the code of a launch begins");
}

void Reader::CheckOperand(char kind, int64_t operand, size_t at) {
  size_t count = 0;
  switch (kind) {
    case 'N':
      return;
    case 'V':
      count = program_.num_registers;
      break;
    case 'T':
      count = program_.NumTensors();
      break;
    case 'A':
      count = program_.num_arguments;
      break;
    case 'F':
      count = program_.failures.size();
      break;
    case 'D':
      count = program_.dtypes.size();
      break;
    default:  // forward, to what is checked when all is read
      if (operand <= static_cast<int64_t>(at)) Refuse("a jump");
      count = program_.code.size();
  }
  if (operand < 0 || static_cast<uint64_t>(operand) >= count) Refuse("an operand");
}

}  // namespace

const char* OperandsOf(Operation operation) { return kOperands[static_cast<size_t>(operation)]; }

LaunchProgram ReadLaunchProgram(std::string_view bytes, size_t num_images) {
  LaunchProgram program = Reader(bytes, num_images).Read();
  AddShortcuts(&program);
  return program;
}

}  // namespace tvm::ffi::extra::cuda
