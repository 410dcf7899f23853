// SPDX-License-Identifier: Apache-2.0
// Fuzz target of launch programs and the check programs in them: arbitrary bytes or arbitrary valid
// rows and instructions, run with arbitrary arguments.  Programs run without a CUDA driver.
#include <tvm/ffi/any.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <vector>

#include "../../runtime/extra/cuda/launch_call.h"
#include "fuzz.h"

namespace {

using namespace tvm::ffi;
using namespace tvm::ffi::extra::cuda;

constexpr int64_t kArguments = 4, kResults = 1, kRegisters = 8, kFailures = 2, kSets = 2;
constexpr int64_t kLastOperation = static_cast<int64_t>(extra::checks::Operation::kJumpIfNone);

// ---- Programs -----------------------------------------------------------------------------------

std::string Words(std::initializer_list<int64_t> words) {
  std::string bytes;
  for (int64_t word : words) {
    for (int i = 0; i < 8; ++i) bytes += static_cast<char>(word >> (8 * i) & 0xff);
  }
  return bytes;
}

std::string Text(std::string_view text) {
  return Words({static_cast<int64_t>(text.size())}) + std::string(text);
}

// Returns the check program up to the rows of the arguments.
std::string Tables() {
  std::string text = Words({1, kArguments, kResults, kRegisters});
  text += Words({0, 1, 2, 3, 4, 5, 6, 7});
  text += Words({kFailures, 0}) + Text("{got} of {expected} {axis}") + Words({1});
  text += Text("{device} {{ {gpu}") + Words({kSets});
  text += Words({1, 0x00012002});              // float32
  text += Words({2, 0x00010801, 0x00011004});  // uint8, bfloat16
  return text + Words({2, 0, 1, 0, 1});        // two required arguments; too many
}

// Returns a value below `count`, or -1 for none; rarely any integer.
int64_t Optional(int64_t count, fuzz::Input* input) {
  if (input->Below(64) == 63) return input->Integer();
  return static_cast<int64_t>(input->Below(static_cast<uint32_t>(count) + 1)) - 1;
}

int64_t Below(int64_t count, fuzz::Input* input) {
  if (input->Below(64) == 63) return input->Integer();
  return input->Below(static_cast<uint32_t>(count));
}

std::string Extent(fuzz::Input* input) {
  int64_t axis = static_cast<int64_t>(input->Below(5)) - 2;
  return Words({axis, Below(4, input), Below(kRegisters, input), Optional(kRegisters, input),
                Below(kFailures, input)});
}

std::string Name(fuzz::Input* input) {
  if (input->Below(2) == 0) return Words({0});
  return Words({1}) + Extent(input) + Words({input->Below(2)});
}

std::string TensorRow(fuzz::Input* input) {
  std::string row = Words({static_cast<int64_t>(input->Below(8)) - 4, Optional(kFailures, input)});
  row += Words({Optional(kSets, input), Optional(kRegisters, input)});
  row += Words({Optional(kFailures, input), Optional(kFailures, input)});
  row += Words({input->Below(4), Optional(2, input), Optional(kFailures, input)});
  row += Words({Optional(kFailures, input)});
  row += Words({input->Below(4), Optional(kFailures, input), Optional(kFailures, input)});
  uint32_t num_extents = input->Below(4);
  row += Words({num_extents});
  for (uint32_t i = 0; i < num_extents; ++i) row += Extent(input);
  row += Words({int64_t{1} << input->Below(8), Optional(kFailures, input)});
  return row + Words({Optional(kFailures, input), Optional(kFailures, input)});
}

std::string Row(fuzz::Input* input) {
  int64_t kind = Below(5, input);
  std::string row = Words({kind, Below(4, input), 0, 1});
  if (kind == 1) row += Words({input->Integer(), Optional(kRegisters, input)});
  if (kind == 2) {
    row += Words({input->Integer(), Optional(kRegisters, input), Below(3, input)});
    row += Words({input->Integer(), input->Integer(), 0}) + Name(input);
  }
  if (kind == 3) row += Words({Optional(kRegisters, input), 1}) + Name(input);
  return kind == 4 ? row + TensorRow(input) : row;
}

// Returns the launch program after the check program.
std::string Launch(int64_t condition, int64_t numbers) {
  std::string text = Words({0, 0, 1});           // first tensor, no variant, no image
  text += Words({1, 3, 1, 4});                   // the result: one extent, dtype set, register
  text += Words({1, 1, 0, 1}) + Text("kernel");  // one variant, image and kernel
  text += Words({5, condition, 0, numbers});
  for (int64_t field = 0; field < static_cast<int64_t>(kNumLaunchFields); ++field) {
    text += Words({field % kRegisters});
  }
  return text + Words({7, 2, 0, 1, 2, 4});
}

int64_t Operand(char kind, fuzz::Input* input) {
  switch (kind) {
    case 'V':
      return Below(kRegisters, input);
    case 'T':
      return Below(kArguments + kResults, input);
    case 'F':
      return Below(kFailures, input);
    case 'N':
      return input->Below(2) == 0 ? input->Below(8) : input->Integer();
    default:  // 1 to 4 instructions ahead; Code() converts it to a code address
      return 1 + Below(4, input);
  }
}

std::string Code(fuzz::Input* input, std::vector<size_t>* starts) {
  std::vector<int64_t> code;
  // Offsets of jump operands, and indices of their instructions.
  std::vector<size_t> jumps, instructions;
  for (uint32_t i = input->Below(32); i > 0; --i) {
    starts->push_back(code.size());
    int64_t operation = input->Below(kLastOperation + 1);
    code.push_back(operation);
    const char* kind = extra::checks::OperandsOf(static_cast<extra::checks::Operation>(operation));
    for (; *kind != 0; ++kind) {
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
  std::string text = Words({static_cast<int64_t>(code.size())});
  for (int64_t word : code) text += Words({word});
  return text;
}

std::string Program(fuzz::Input* input) {
  std::vector<size_t> starts;
  std::string code = Code(input, &starts);
  auto start = [&] { return static_cast<int64_t>(starts[input->Below(255) % starts.size()]); };
  int64_t condition = input->Below(2) == 0 ? -1 : start();
  std::string text = Words({2, kResults}) + Tables();
  for (int64_t i = 0; i < kArguments; ++i) text += Row(input);
  return text + code + Launch(condition, start());
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
      if (variant.condition != kNone) call.Execute(variant.condition);
      call.Execute(variant.fields_start);
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
    FUZZ_REQUIRE(extra::checks::CheckRun::NumSlots(program.checks) <=
                 8 + text.size() + (size_t{1} << 14));
    Call(program, &input);
    Call(program, &input);
  } catch (const Error& error) {
    fuzz::RequireKind(error, {"ValueError"});
  }
  return 0;
}
