// SPDX-License-Identifier: Apache-2.0
// Fuzz target of launch programs: arbitrary bytes or arbitrary valid instructions, run with
// arbitrary arguments.  Programs run without a CUDA driver.
#include <tvm/ffi/any.h>

#include <array>
#include <vector>

#include "../../runtime/extra/cuda/launch_call.h"
#include "fuzz.h"

namespace {

using namespace tvm::ffi;
using namespace tvm::ffi::extra::cuda;

constexpr uint32_t kArguments = 4, kResults = 1, kRegisters = 8, kFailures = 2, kSets = 2;
constexpr int64_t kLastOperation = static_cast<int64_t>(Operation::kAlignment);

// ---- Programs -----------------------------------------------------------------------------------

std::string Little(uint64_t value, int width) {
  std::string bytes;
  for (int i = 0; i < width; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

std::string Text(std::string_view text) { return Little(text.size(), 8) + std::string(text); }

// Returns the program bytes up to the launch variants.
std::string Tables() {
  std::string text;
  for (uint32_t size : {1u, kArguments, kResults, kRegisters}) text += Little(size, 4);
  text += Little(kFailures, 8) + Little(0, 4) + Text("{got} of {expected} {axis}") + Little(1, 4);
  text += Text("{device} {{ {gpu}") + Little(kSets, 8);
  text += Little(1, 8) + Little(0x00012002, 4);                          // float32
  text += Little(2, 8) + Little(0x00010801, 4) + Little(0x00011004, 4);  // uint8, bfloat16
  text += Little(0, 8);  // no messages for missing arguments
  for (uint32_t failure : {0u, 1u}) text += Little(failure, 4);
  text += Little(0, 4) + Little(0, 4) + Little(1, 4);  // first tensor; no variant; no image
  return text + Little(kResults, 8) + Little(1, 8) + Little(3, 4) + Little(1, 4) + Little(4, 4);
}

std::string Launch(uint32_t condition, uint32_t numbers) {
  std::string text = Little(1, 8) + Little(1, 8) + Little(0, 4) + Little(1, 8) + Text("kernel");
  for (uint32_t word : {5u, condition, 0u, numbers}) text += Little(word, 4);
  for (uint32_t field = 0; field < kNumLaunchFields; ++field) text += Little(field % 8, 4);
  text += Little(7, 4) + Little(2, 8);
  for (uint32_t word : {0u, 1u, 2u, 4u}) text += Little(word, 4);
  return text;
}

int64_t Operand(char kind, fuzz::Input* input) {
  if (input->Below(64) == 63) return input->Integer();
  switch (kind) {
    case 'V':
      return input->Below(kRegisters);
    case 'T':
      return input->Below(kArguments + kResults);
    case 'A':
      return input->Below(kArguments);
    case 'F':
      return input->Below(kFailures);
    case 'D':
      return input->Below(kSets);
    case 'N':
      return input->Below(2) == 0 ? input->Below(8) : input->Integer();
    default:  // 1 to 4 instructions ahead; Code() converts it to a code address
      return 1 + input->Below(4);
  }
}

std::string Code(fuzz::Input* input, std::vector<size_t>* starts) {
  std::vector<int64_t> code;
  std::vector<size_t> jumps,
      instructions;  // offsets of jump operands in the bytes, and indices of their instructions
  for (uint32_t i = input->Below(32); i > 0; --i) {
    starts->push_back(code.size());
    int64_t operation = input->Below(kLastOperation + 1);
    code.push_back(operation);
    for (const char* kind = OperandsOf(static_cast<Operation>(operation)); *kind != 0; ++kind) {
      if (*kind == 'J') jumps.push_back(code.size()), instructions.push_back(starts->size() - 1);
      code.push_back(Operand(*kind, input));
    }
  }
  starts->push_back(code.size());
  code.push_back(0);
  for (size_t i = 0; i < jumps.size(); ++i) {
    if (code[jumps[i]] < 1 || code[jumps[i]] > 4) continue;
    size_t target = instructions[i] + static_cast<size_t>(code[jumps[i]]);
    code[jumps[i]] = static_cast<int64_t>((*starts)[std::min(target, starts->size() - 1)]);
  }
  std::string text = Little(code.size(), 8);
  for (int64_t word : code) text += Little(static_cast<uint64_t>(word), 8);
  return text;
}

std::string Program(fuzz::Input* input) {
  std::vector<size_t> starts;
  std::string code = Code(input, &starts);
  auto start = [&] { return static_cast<uint32_t>(starts[input->Below(255) % starts.size()]); };
  uint32_t condition = input->Below(2) == 0 ? kNone : start();
  return Tables() + Launch(condition, start()) + code;
}

// ---- Calls --------------------------------------------------------------------------------------

// A tensor with arbitrary metadata; its data is never accessed.
struct AnyTensor {
  std::array<int64_t, 4> shape, strides;
  DLTensor tensor{};

  void Fill(fuzz::Input* input) {
    constexpr uint8_t kBits[] = {1, 4, 8, 16, 32, 64, 128, 255};
    for (int64_t& extent : shape) extent = input->Integer();
    for (int64_t& stride : strides) stride = input->Integer();
    tensor.data = reinterpret_cast<void*>(static_cast<uintptr_t>(input->Integer()));
    tensor.byte_offset = static_cast<uint64_t>(input->Integer());
    tensor.device = {input->Below(4) == 0 ? kDLCPU : kDLCUDA, static_cast<int32_t>(input->Byte())};
    tensor.dtype = {input->Byte(), kBits[input->Below(8)], static_cast<uint16_t>(input->Below(3))};
    if (input->Below(2) == 0) tensor.dtype = {kDLFloat, 32, 1};
    tensor.ndim = static_cast<int32_t>(input->Below(5));
    tensor.shape = tensor.ndim == 0 && input->Below(2) == 0 ? nullptr : shape.data();
    tensor.strides = input->Below(3) == 0 ? nullptr : strides.data();
  }
};

struct AnyArguments {
  std::array<AnyTensor, 6> tensors;
  std::array<Any, 6> owners;
  std::array<TVMFFIAny, 6> values{};

  explicit AnyArguments(fuzz::Input* input) {
    for (size_t i = 0; i < values.size(); ++i) {
      uint32_t choice = input->Below(8);
      if (choice < 5) {
        owners[i] = Value(choice, input);
        values[i] = AnyView(owners[i]).CopyToTVMFFIAny();
        continue;
      }
      tensors[i].Fill(input);
      values[i].type_index = kTVMFFIDLTensorPtr;
      values[i].v_ptr = input->Below(16) == 0 ? nullptr : &tensors[i].tensor;
    }
  }

 private:
  static Any Value(uint32_t choice, fuzz::Input* input) {
    if (choice == 0) return nullptr;
    if (choice == 1) return input->Integer();
    if (choice == 2) return static_cast<double>(input->Integer()) / 3;
    if (choice == 3) return input->Below(2) == 0;
    return String(std::string(input->Text()));
  }
};

void Call(const LaunchProgram& program, fuzz::Input* input) {
  AnyArguments arguments(input);
  try {
    LaunchCall call(program, arguments.values.data(), static_cast<int32_t>(input->Below(8)) - 1);
    for (const LaunchVariant& variant : program.variants) {
      if (variant.condition != kNone) call.Run(variant.condition);
      call.Run(variant.fields_start);
      for (uint32_t field : variant.field_registers) (void)call.value(field);
    }
  } catch (const Error& error) {
    fuzz::RequireKind(error, {"TypeError", "ValueError", "RuntimeError", "InternalError"});
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  bool is_chosen = input.Below(4) != 0;
  std::string text(is_chosen ? Program(&input) : input.Rest());
  try {
    LaunchProgram program = ReadLaunchProgram(text, 2);
    FUZZ_REQUIRE(program.num_words <= 8 + text.size() + (size_t{1} << 14));
    Call(program, &input);
    Call(program, &input);
  } catch (const Error& error) {
    fuzz::RequireKind(error, {"ValueError"});
  }
  return 0;
}
