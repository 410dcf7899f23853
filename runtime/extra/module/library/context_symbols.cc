// SPDX-License-Identifier: Apache-2.0
#include "module/library/context_symbols.h"

#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/module.h>

#include <mutex>

namespace tvm::ffi {
namespace extra {
namespace {

struct Table {
  std::mutex mutex;
  std::vector<std::pair<std::string, void*>> symbols;

  static Table& Global() {
    static auto* table = new Table();
    return *table;
  }
};

}  // namespace

std::vector<std::pair<std::string, void*>> ContextSymbols() {
  std::lock_guard<std::mutex> lock(Table::Global().mutex);
  return Table::Global().symbols;
}

}  // namespace extra

void Module::VisitContextSymbols(const TypedFunction<void(String, void*)>& callback) {
  for (const auto& [name, address] : extra::ContextSymbols()) callback(name, address);
}

}  // namespace tvm::ffi

using namespace tvm::ffi::extra;

int TVMFFIEnvModRegisterContextSymbol(const char* name, void* symbol) {
  TVM_FFI_SAFE_CALL_BEGIN();
  std::lock_guard<std::mutex> lock(Table::Global().mutex);
  Table::Global().symbols.emplace_back(name, symbol);
  TVM_FFI_SAFE_CALL_END();
}
