// SPDX-License-Identifier: Apache-2.0
#include "module/library/context_symbols.h"

#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/module.h>

#include <memory>
#include <mutex>
#include <utility>

namespace tvm::ffi {
namespace extra {
namespace {

// The registered context symbols.  A reader takes a snapshot of the list and releases the mutex
// before it calls the dynamic loader, because the loader may wait for a thread that needs the
// mutex.
struct Table {
  std::mutex mutex;
  std::shared_ptr<const SymbolList> symbols = std::make_shared<SymbolList>();

  static Table& Global() {
    static auto* table = new Table();
    return *table;
  }
};

}  // namespace

std::shared_ptr<const SymbolList> ContextSymbols() {
  std::lock_guard<std::mutex> lock(Table::Global().mutex);
  return Table::Global().symbols;
}

}  // namespace extra

void Module::VisitContextSymbols(const TypedFunction<void(String, void*)>& callback) {
  std::shared_ptr<const extra::SymbolList> symbols = extra::ContextSymbols();
  for (const auto& [name, address] : *symbols) callback(name, address);
}

}  // namespace tvm::ffi

using namespace tvm::ffi::extra;

int TVMFFIEnvModRegisterContextSymbol(const char* name, void* symbol) {
  TVM_FFI_SAFE_CALL_BEGIN();
  Table& table = Table::Global();
  std::lock_guard<std::mutex> lock(table.mutex);
  auto symbols = std::make_shared<SymbolList>(*table.symbols);
  symbols->emplace_back(name, symbol);
  table.symbols = std::move(symbols);
  TVM_FFI_SAFE_CALL_END();
}
