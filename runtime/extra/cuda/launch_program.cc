// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch_program.h"

#include <tvm/ffi/error.h>

#include <algorithm>
#include <utility>

namespace tvm::ffi::extra::cuda {
namespace {

constexpr int64_t kVersion = 2;
constexpr size_t kMaxResults = 1 << 12, kMaxFlags = 7, kWord = sizeof(int64_t);

class Reader {
 public:
  Reader(std::string_view bytes, size_t num_images)
      : reader_(bytes, "launch program"), num_images_(num_images) {}

  LaunchProgram Read();

 private:
  void ReadResult(LaunchResult* result);
  void ReadVariant(LaunchVariant* variant);
  std::string ReadKernelName();
  uint32_t ReadStart(bool may_be_none);
  uint32_t Register() { return reader_.Index(program_.checks.num_registers, "register index"); }
  uint32_t RegisterOrNone() {
    return reader_.IndexOrNone(program_.checks.num_registers, "register index");
  }

  checks::ProgramReader reader_;
  size_t num_images_;
  LaunchProgram program_;
};

LaunchProgram Reader::Read() {
  int64_t version = reader_.Word("version");
  if (version != kVersion) {
    TVM_FFI_THROW(ValueError) << "unsupported launch program: expected version " << kVersion
                              << ", got " << version;
  }
  uint32_t num_results = reader_.Index(kMaxResults, "number of results");
  size_t position = reader_.position();
  checks::CheckProgram& checks = program_.checks = checks::ReadCheckProgram(&reader_);
  if (checks.num_tensors - checks.num_parameters != num_results) {
    reader_.Fail(position,
                 "expected a tensor slot for each of " + std::to_string(num_results) + " results");
  }
  program_.first_tensor = reader_.IndexOrNone(checks.num_parameters, "index of the first tensor");
  program_.no_variant_failure = reader_.IndexOrNone(checks.failures.size(), "message index");
  program_.no_image_failure = reader_.Index(checks.failures.size(), "message index");
  program_.results.resize(num_results);
  for (LaunchResult& result : program_.results) ReadResult(&result);
  program_.variants.resize(reader_.NonzeroCount(20 * kWord, "launch variants"));
  for (LaunchVariant& variant : program_.variants) {
    ReadVariant(&variant);
    program_.max_kernel_arguments =
        std::max(program_.max_kernel_arguments, variant.arguments.size());
  }
  reader_.RequireEnd();
  return std::move(program_);
}

void Reader::ReadResult(LaunchResult* result) {
  size_t position = reader_.position();
  result->extent_registers.resize(reader_.Count(kWord, "extents"));
  for (uint32_t& extent : result->extent_registers) extent = RegisterOrNone();
  const std::vector<uint32_t>& extents = result->extent_registers;
  ptrdiff_t num_gaps = std::count(extents.begin(), extents.end(), kNone);
  if (num_gaps > 1) reader_.Fail(position, "a result has several ellipses");
  if (num_gaps == 1) {
    result->gap_tensor = reader_.Index(program_.checks.num_parameters, "tensor index");
    result->gap.first = reader_.Between(0, INT32_MAX, "first dimension");
    result->gap.num_others = reader_.Between(0, INT32_MAX, "number of dimensions");
  }
  result->dtype_set = reader_.Index(program_.checks.dtype_sets.size(), "dtype set index");
  result->dtype_register = RegisterOrNone();
}

std::string Reader::ReadKernelName() {
  size_t position = reader_.position();
  std::string name = reader_.Text("bytes of a kernel name");
  if (name.empty()) reader_.Fail(position, "a kernel name is empty");
  if (name.find('\0') != std::string::npos)
    reader_.Fail(position, "a kernel name contains a NUL byte");
  return name;
}

uint32_t Reader::ReadStart(bool may_be_none) {
  const checks::CheckProgram& checks = program_.checks;
  size_t position = reader_.position();
  uint32_t start = may_be_none ? reader_.IndexOrNone(checks.code.size(), "code address")
                               : reader_.Index(checks.code.size(), "code address");
  if (start != kNone && !checks.begins_instruction[start]) {
    reader_.Fail(position, "code address is not the start of an instruction");
  }
  return start;
}

void Reader::ReadVariant(LaunchVariant* variant) {
  size_t position = reader_.position();
  variant->images = reader_.Indices(num_images_, "images", "image index");
  if (variant->images.empty())
    reader_.Fail(position, "expected at least one device image, got none");
  variant->kernels.resize(reader_.NonzeroCount(kWord, "kernels"));
  for (std::string& kernel : variant->kernels) kernel = ReadKernelName();
  variant->kernel_register = RegisterOrNone();
  variant->condition = ReadStart(true);
  variant->condition_result = Register();
  variant->fields_start = ReadStart(false);
  for (uint32_t& field : variant->field_registers) field = Register();
  variant->flags = reader_.Index(kMaxFlags + 1, "flags");
  variant->arguments.resize(reader_.Count(2 * kWord, "kernel arguments"));
  for (LaunchArgument& argument : variant->arguments) {
    argument.kind = static_cast<LaunchArgumentKind>(reader_.Index(4, "argument kind"));
    bool is_tensor = argument.kind == LaunchArgumentKind::kTensor;
    argument.index =
        is_tensor ? reader_.Index(program_.checks.num_tensors, "tensor index") : Register();
  }
}

}  // namespace

LaunchProgram ReadLaunchProgram(std::string_view bytes, size_t num_images) {
  return Reader(bytes, num_images).Read();
}

}  // namespace tvm::ffi::extra::cuda
