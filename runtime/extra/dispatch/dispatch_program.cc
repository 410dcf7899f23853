// SPDX-License-Identifier: Apache-2.0
#include "dispatch/dispatch_program.h"

#include <tvm/ffi/error.h>

#include <utility>

namespace tvm::ffi::extra::dispatch {
namespace {

constexpr int64_t kVersion = 1;
constexpr size_t kWord = sizeof(int64_t);

class Reader {
 public:
  explicit Reader(std::string_view bytes) : reader_(bytes, "dispatch program") {}

  DispatchProgram Read();

 private:
  void ReadCondition(Condition* condition);
  void ReadCandidate(Candidate* candidate);
  uint32_t Register() { return reader_.Index(program_.checks.num_registers, "register index"); }

  checks::ProgramReader reader_;
  DispatchProgram program_;
};

DispatchProgram Reader::Read() {
  int64_t version = reader_.Word("version");
  if (version != kVersion) {
    TVM_FFI_THROW(ValueError) << "unsupported dispatch program: expected version " << kVersion
                              << ", got " << version;
  }
  program_.name = reader_.Text("bytes of a name");
  program_.checks = checks::ReadCheckProgram(&reader_);
  program_.device_tensors =
      reader_.Indices(program_.checks.num_parameters, "tensors", "index of a tensor");
  program_.result = reader_.IndexOrNone(program_.checks.num_registers, "register index");
  size_t position = reader_.position();
  program_.conditions.resize(reader_.Count(3 * kWord, "conditions"));
  if (program_.result == kNone && !program_.conditions.empty()) {
    reader_.Fail(position, "conditions without a register");
  }
  for (Condition& condition : program_.conditions) ReadCondition(&condition);
  program_.candidates.resize(reader_.Count(5 * kWord, "candidates"));
  for (Candidate& candidate : program_.candidates) ReadCandidate(&candidate);
  reader_.RequireEnd();
  return std::move(program_);
}

void Reader::ReadCondition(Condition* condition) {
  const checks::CheckProgram& checks = program_.checks;
  condition->text = reader_.Text("bytes of a condition");
  size_t position = reader_.position();
  condition->start = reader_.Index(checks.code.size(), "code address");
  if (!checks.begins_instruction[condition->start]) {
    reader_.Fail(position, "code address is not the start of an instruction");
  }
  condition->values.resize(reader_.Count(3 * kWord, "named values"));
  for (NamedValue& value : condition->values) {
    value.name = reader_.Text("bytes of a name");
    value.register_index = Register();
    value.dtype_set = reader_.IndexOrNone(checks.dtype_sets.size(), "dtype set index");
  }
}

void Reader::ReadCandidate(Candidate* candidate) {
  candidate->name = reader_.Text("bytes of a name");
  candidate->device_type = static_cast<int32_t>(reader_.Between(-1, INT32_MAX, "device type"));
  candidate->architecture_text = reader_.Text("bytes of an architecture");
  candidate->architecture = cuda::ReadArchitecture(candidate->architecture_text);
  candidate->unavailable = reader_.Text("bytes of a reason");
  candidate->conditions =
      reader_.Indices(program_.conditions.size(), "conditions", "condition index");
}

}  // namespace

DispatchProgram ReadDispatchProgram(std::string_view bytes) { return Reader(bytes).Read(); }

}  // namespace tvm::ffi::extra::dispatch
