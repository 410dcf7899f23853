// SPDX-License-Identifier: Apache-2.0
// Fuzz target of saved CUDA modules: arbitrary bytes, and arbitrary lines as a kernel description.
#include <tvm/ffi/extra/json.h>

#include "../../runtime/extra/cuda/module_format.h"
#include "fuzz.h"

namespace {

using namespace tvm::ffi;
using namespace tvm::ffi::extra::cuda;

void RequireSignature(SavedKernel kernel) {
  std::string name = kernel.name;
  size_t num_parameters = kernel.parameters.size();
  try {
    Signature signature = ReadSignature(std::move(kernel));
    FUZZ_REQUIRE(signature.parameters.size() == num_parameters);
    FUZZ_REQUIRE(signature.Call().substr(0, name.size()) == name);
    FUZZ_REQUIRE(signature.Documentation().size() >= signature.Call().size());
    json::Parse(signature.Metadata());
    for (size_t i = 0; i < kNumLaunchFields; ++i) {
      FUZZ_REQUIRE(signature.fixed[i] <= INT32_MAX &&
                   (signature.fixed[i] > 0 || i == kSharedMemory));
    }
  } catch (const Error& error) {
    fuzz::RequireKind(error, {"ValueError"});
  }
}

// Decoding a module and encoding it again gives the same bytes.
void RequireModule(std::string_view bytes) {
  try {
    SavedModule module = DecodeModule(bytes);
    FUZZ_REQUIRE(EncodeModule(module) == bytes);
    for (SavedKernel& kernel : module.kernels) RequireSignature(std::move(kernel));
  } catch (const Error& error) {
    fuzz::RequireKind(error, {"ValueError"});
  }
}

// Reads kernels from lines: name, symbol, then parameters; after "-" launch parameters; after "="
// fixed launch fields, each followed by a line whose length is the value.
SavedKernel KernelOfLines(std::string_view text) {
  SavedKernel kernel;
  char section = 'n';
  for (size_t number = 0; !text.empty(); ++number) {
    std::string line(text.substr(0, text.find('\n')));
    text.remove_prefix(line.size() == text.size() ? line.size() : line.size() + 1);
    if (number == 0) kernel.name = line;
    if (number == 1) kernel.symbol = line;
    if (number < 2) continue;
    if (line == "-" || line == "=") {
      section = line[0];
    } else if (section == 'n') {
      kernel.parameters.push_back(line);
    } else if (section == '-') {
      kernel.launch.push_back(line);
    } else {
      size_t value = text.substr(0, text.find('\n')).size();
      kernel.fixed.emplace_back(line, value == 100 ? UINT64_MAX : value);
      text.remove_prefix(value == text.size() ? value : value + 1);
    }
  }
  return kernel;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  RequireModule(bytes);
  RequireSignature(KernelOfLines(bytes));
  return 0;
}
