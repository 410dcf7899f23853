// SPDX-License-Identifier: Apache-2.0
// The system library: symbols of functions that are linked into the program itself.
#include <tvm/ffi/extra/c_env_api.h>

#include <cstdio>
#include <mutex>
#include <unordered_map>

#include "module/library/function_names.h"
#include "module/library/library.h"

namespace tvm::ffi::extra {
namespace {

// The table of registered symbols.  It is created on first use, because static initialisers
// register symbols.  It is never destroyed.
struct SystemSymbols {
  std::mutex mutex;
  std::unordered_map<std::string, void*> addresses;

  static SystemSymbols& Global() {
    static auto* table = new SystemSymbols();
    return *table;
  }
  void* Find(const std::string& symbol) {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = addresses.find(symbol);
    return found == addresses.end() ? nullptr : found->second;
  }
  std::vector<std::string> Names() {
    std::lock_guard<std::mutex> lock(mutex);
    std::vector<std::string> names;
    for (const auto& entry : addresses) names.push_back(entry.first);
    return names;
  }
  // Registers the address of a symbol.  Returns the symbol's previous address; nullptr if the
  // symbol was not registered before.
  void* Set(const char* symbol, void* address) {
    std::lock_guard<std::mutex> lock(mutex);
    auto [entry, is_new] = addresses.emplace(symbol, address);
    return is_new ? nullptr : std::exchange(entry->second, address);
  }
};

class SystemLibrary final : public Library {
 public:
  explicit SystemLibrary(std::string prefix) : prefix_(std::move(prefix)) {}

  void* Find(const std::string& symbol) const override {
    void* found = SystemSymbols::Global().Find(prefix_ + symbol);
    return found != nullptr ? found : SystemSymbols::Global().Find(symbol);
  }
  void* FindFunction(const std::string& name) const override {
    void* found = SystemSymbols::Global().Find(symbol::tvm_ffi_symbol_prefix + prefix_ + name);
    return found != nullptr ? found
                            : SystemSymbols::Global().Find(symbol::tvm_ffi_symbol_prefix + name);
  }
  std::vector<std::string> FunctionNames() const override {
    return FunctionNamesAmong(SystemSymbols::Global().Names(), prefix_);
  }
  std::string Name() const override { return "the system library"; }

 private:
  std::string prefix_;
};

}  // namespace

std::unique_ptr<Library> OpenSystemLibrary(const std::string& prefix) {
  return std::make_unique<SystemLibrary>(prefix);
}

}  // namespace tvm::ffi::extra

using namespace tvm::ffi::extra;

int TVMFFIEnvModRegisterSystemLibSymbol(const char* name, void* symbol) {
  TVM_FFI_SAFE_CALL_BEGIN();
  void* replaced = SystemSymbols::Global().Set(name, symbol);
  if (replaced != nullptr && replaced != symbol) {
    std::fprintf(stderr,
                 "warning: system library symbol `%s` was registered again; the new address "
                 "replaces the old one\n",
                 name);
  }
  TVM_FFI_SAFE_CALL_END();
}
