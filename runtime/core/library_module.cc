// SPDX-License-Identifier: Apache-2.0
#include "library_module.h"

#include <dlfcn.h>
#include <tvm/ffi/extra/c_env_api.h>

#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "error.h"
#include "function_table.h"
#include "text.h"
#include "value.h"

namespace tvm::ffi::runtime {
namespace {

// Symbols that libraries loaded from now on receive in data slots of the same name.
struct ContextSymbols {
  std::mutex mutex;
  std::vector<std::pair<std::string, void*>> symbols;

  static ContextSymbols& Global() {
    static auto* table = new ContextSymbols();
    return *table;
  }
};

// Symbols of code that is linked into the program; registered by static initialisers.
struct SystemLibSymbols {
  std::mutex mutex;
  std::map<std::string, void*> symbols;

  static SystemLibSymbols& Global() {
    static auto* table = new SystemLibSymbols();
    return *table;
  }
};

// A symbol of a library, which it keeps alive through the module.
struct LibraryFunctionObject : FunctionObject {
  ModuleRef module;
  TVMFFISafeCallType symbol = nullptr;
};

int CallSymbol(void* function, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  auto* self = static_cast<LibraryFunctionObject*>(static_cast<TVMFFIObject*>(function));
  return self->symbol(nullptr, args, num_args, result);
}

class LibraryModule final : public ModuleObject {
 public:
  LibraryModule(void* library, std::string path) : library_(library), path_(std::move(path)) {}

  ~LibraryModule() {
    // The slot may already belong to a later module over the same library.
    void* self = Address();
    if (context_slot_ != nullptr) {
      __atomic_compare_exchange_n(context_slot_, &self, nullptr, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE);
    }
  }

  const char* kind() const override { return "library"; }

  int GetPropertyMask() const override { return kModuleBinarySerializable | kModuleRunnable; }

  Ref<FunctionObject> GetFunction(const Value& name) override {
    void* symbol = Find(kFunctionSymbolPrefix, name);
    if (symbol == nullptr) return nullptr;
    auto function = NewObject<LibraryFunctionObject>(kTVMFFIFunction, 0);
    function->safe_call = &CallSymbol;
    function->cpp_call = nullptr;
    function->module = ModuleRef::Share(static_cast<ModuleObject*>(this));
    function->symbol = reinterpret_cast<TVMFFISafeCallType>(symbol);
    return Ref<FunctionObject>::Adopt(static_cast<TVMFFIObjectHandle>(function.release()));
  }

  bool ImplementsFunction(const Value& name) override {
    return Find(kFunctionSymbolPrefix, name) != nullptr;
  }

  Value GetFunctionDoc(const Value& name) override { return CallText(kDocSymbolPrefix, name); }

  Value GetFunctionMetadata(const Value& name) override {
    return CallText(kMetadataSymbolPrefix, name);
  }

  // Fills the data slots through which the library reaches its module and the host.
  void BindContext() {
    if (dlsym(library_, kLibraryBinarySymbol) != nullptr) {
      Raise("RuntimeError", "Failed to load ", path_, ": it embeds serialized modules (",
            kLibraryBinarySymbol, "), which this version cannot read");
    }
    {
      std::lock_guard<std::mutex> lock(ContextSymbols::Global().mutex);
      for (const auto& [name, address] : ContextSymbols::Global().symbols) {
        auto* slot = static_cast<void**>(dlsym(library_, name.c_str()));
        if (slot != nullptr) *slot = address;
      }
    }
    context_slot_ = static_cast<void**>(dlsym(library_, kLibraryContextSymbol));
    if (context_slot_ != nullptr) __atomic_store_n(context_slot_, Address(), __ATOMIC_RELEASE);
  }

  // The result is borrowed: the module keeps what it found.
  FunctionObject* LookupFromImports(const std::string& name) {
    std::lock_guard<std::mutex> lock(import_cache_mutex_);
    auto found = import_cache_.find(name);
    if (found != import_cache_.end()) return found->second.get();
    Value name_value = Value::String(name);
    Ref<FunctionObject> function = GetFunctionFromImports(name_value);
    if (!function) function = FunctionTable::Global().Find(name);
    if (!function) {
      Raise("RuntimeError", "Cannot find function ", name,
            " in the imported modules or global registry.");
    }
    return import_cache_.emplace(name, std::move(function)).first->second.get();
  }

  void ImportModule(const ModuleRef& other) override {
    ModuleObject::ImportModule(other);
    ForgetLookups();
  }

  void ClearImports() override {
    ModuleObject::ClearImports();
    ForgetLookups();
  }

 private:
  // What the library-context symbol holds: the C++ object, 8 bytes in front of the handle.
  void* Address() { return static_cast<ModuleObject*>(this); }

  void* Find(std::string_view prefix, const Value& name) const {
    std::string symbol = Concat(prefix, ViewOfText(name.raw()));
    return dlsym(library_, symbol.c_str());
  }

  // Calls the argument-free text function `prefix + name`; None when there is none.
  Value CallText(std::string_view prefix, const Value& name) const {
    auto symbol = reinterpret_cast<TVMFFISafeCallType>(Find(prefix, name));
    if (symbol == nullptr) return Value();
    TVMFFIAny result = NoneAny();
    int code = symbol(nullptr, nullptr, 0, &result);
    if (code != 0) RaisePending(code);
    return Value::Adopt(result);
  }

  void ForgetLookups() {
    std::unordered_map<std::string, Ref<FunctionObject>> dropped;  // dies without the lock
    std::lock_guard<std::mutex> lock(import_cache_mutex_);
    dropped.swap(import_cache_);
  }

  void* library_;
  std::string path_;
  void** context_slot_ = nullptr;
  std::mutex import_cache_mutex_;
  std::unordered_map<std::string, Ref<FunctionObject>> import_cache_;
};

}  // namespace

ModuleRef LoadLibraryModule(std::string_view path) {
  std::string file(path);
  void* library = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    Raise("InternalError", "Failed to load dynamic shared library ", file, ": ",
          reason == nullptr ? "unknown reason" : reason);
  }
  auto module = NewObject<LibraryModule>(kTVMFFIModule, 0, library, file);
  module->BindContext();
  return ModuleRef::Adopt(static_cast<TVMFFIObjectHandle>(module.release()));
}

}  // namespace tvm::ffi::runtime

using namespace tvm::ffi::runtime;

int TVMFFIEnvModLookupFromImports(TVMFFIObjectHandle library_ctx, const char* func_name,
                                  TVMFFIObjectHandle* out) {
  return GuardBoundary([&] {
    if (library_ctx == nullptr) {
      Raise("RuntimeError", "Cannot find function ", func_name,
            ": the library context is NULL; was the library loaded as a module?");
    }
    // Only the loader above fills context symbols, so this is one of its modules.
    auto* module = static_cast<LibraryModule*>(static_cast<ModuleObject*>(library_ctx));
    *out = static_cast<TVMFFIObject*>(module->LookupFromImports(func_name));
  });
}

int TVMFFIEnvModRegisterContextSymbol(const char* name, void* symbol) {
  return GuardBoundary([&] {
    std::lock_guard<std::mutex> lock(ContextSymbols::Global().mutex);
    ContextSymbols::Global().symbols.emplace_back(name, symbol);
  });
}

int TVMFFIEnvModRegisterSystemLibSymbol(const char* name, void* symbol) {
  return GuardBoundary([&] {
    SystemLibSymbols& table = SystemLibSymbols::Global();
    std::lock_guard<std::mutex> lock(table.mutex);
    auto [entry, is_new] = table.symbols.emplace(name, symbol);
    if (is_new || entry->second == symbol) return;
    std::fprintf(stderr,
                 "warning: system library symbol `%s` was registered again; the new address "
                 "replaces the old one\n",
                 name);
    entry->second = symbol;
  });
}
