// SPDX-License-Identifier: Apache-2.0
// Fuzz target of embedded modules: arbitrary bytes as `__tvm_ffi__library_bin`; well-formed bytes
// are loaded as modules.  tests/cpp/library_binary_test.cc calls it too.
#include <tvm/ffi/cast.h>
#include <tvm/ffi/extra/module.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "../../runtime/extra/module/library/library_binary.h"
#include "../../runtime/extra/module/library/module_tree.h"

namespace {

using namespace tvm::ffi;
using extra::LibraryBinary;

class EmptyModule : public ModuleObj {
 public:
  const char* kind() const override { return "empty"; }
  Optional<Function> GetFunction(const String&) override { return std::nullopt; }
};

Module NewEmpty() { return Module(make_object<EmptyModule>()); }

// The module loaders of kinds `a` and `b` accept all bytes; the loader of kind `refuse` throws.
bool RegisterLoaders() {
  for (const char* kind : {"a", "b"}) {
    Function::SetGlobal("ffi.Module.load_from_bytes." + std::string(kind),
                        Function::FromTyped([](Bytes) { return NewEmpty(); }), true);
  }
  Function::SetGlobal("ffi.Module.load_from_bytes.refuse", Function::FromTyped([](Bytes) -> Module {
                        TVM_FFI_THROW(ValueError) << "refused";
                        TVM_FFI_UNREACHABLE();
                      }),
                      true);
  return true;
}

void Require(bool holds) {
  if (!holds) std::abort();
}

void RequireWellFormed(const LibraryBinary& binary) {
  size_t num_modules = binary.entries.size(), num_imports = 0;
  for (const LibraryBinary::Entry& entry : binary.entries) {
    Require(!entry.kind.empty());
    Require(entry.first_import == num_imports && entry.end_import >= num_imports);
    num_imports = entry.end_import;
  }
  Require(num_modules > 0 && num_imports == binary.imports.size());
  // In importers_first, each module precedes the modules that it imports.
  std::vector<size_t> position(num_modules, num_modules);
  Require(binary.importers_first.size() == num_modules);
  for (size_t i = 0; i < num_modules; ++i) position.at(binary.importers_first[i]) = i;
  for (size_t i = 0; i < num_modules; ++i) {
    Require(position[i] < num_modules);
    const LibraryBinary::Entry& entry = binary.entries[i];
    for (size_t j = entry.first_import; j < entry.end_import; ++j) {
      Require(position[i] < position.at(binary.imports[j]));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static bool is_registered = RegisterLoaders();
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    LibraryBinary binary = extra::DecodeLibraryBinary(bytes, "fuzzed.so");
    RequireWellFormed(binary);
    std::vector<Module> libraries;
    for (const LibraryBinary::Entry& entry : binary.entries) {
      if (entry.IsLibrary()) libraries.push_back(NewEmpty());
    }
    extra::BuildModuleTree(binary, libraries, "fuzzed.so");
  } catch (const Error&) {
    // This error is expected for malformed bytes, and for module kinds without a loader.
  }
  return is_registered ? 0 : 1;
}
