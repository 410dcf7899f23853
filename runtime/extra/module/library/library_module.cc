// SPDX-License-Identifier: Apache-2.0
#include "module/library/library_module.h"

#include <tvm/ffi/cast.h>

#include <string>
#include <utility>
#include <vector>

#include "../core/extra_layer.h"
#include "../platform/platform.h"
#include "module/library/context_symbols.h"
#include "module/library/library_binary.h"
#include "module/library/module_tree.h"
#include "module/module_class.h"
#include "walk/stack_room.h"

namespace tvm::ffi::extra {
namespace {

// Returns the address of the data symbol `symbol` in the library; nullptr if the symbol is not
// found.
void** FindSlot(const Library& library, const std::string& symbol) {
  return static_cast<void**>(library.Find(symbol));
}

void BindContextSymbols(const Library& library) {
  std::shared_ptr<const SymbolList> symbols = ContextSymbols();
  for (const auto& [name, address] : *symbols) {
    if (void** slot = FindSlot(library, name)) __atomic_store_n(slot, address, __ATOMIC_RELEASE);
  }
}

// A function that calls a symbol of a library.  It owns a reference to the library's module.
class LibraryFunctionObj : public FunctionObj {
 public:
  LibraryFunctionObj(Module module, void* symbol, String name)
      : module_(std::move(module)),
        symbol_(reinterpret_cast<TVMFFISafeCallType>(symbol)),
        name_(std::move(name)) {
    // `cpp_call` stays null, because the symbol has the C calling convention.
    safe_call = &CallSymbol;
    known_.Add(ffi::detail::ObjectUnsafe::GetHeader(this), {name_.data(), name_.size()});
  }

  static const void* CodeOf(void* function, const void* entry) {
    if (entry != reinterpret_cast<const void*>(&CallSymbol)) return entry;
    return reinterpret_cast<const void*>(At(function)->symbol_);
  }

 private:
  static LibraryFunctionObj* At(void* function) {
    return ffi::detail::ObjectUnsafe::RawObjectPtrFromUnowned<LibraryFunctionObj>(
        static_cast<TVMFFIObject*>(function));
  }
  static int CallSymbol(void* function, const TVMFFIAny* args, int32_t num_args,
                        TVMFFIAny* result) {
    return At(function)->symbol_(nullptr, args, num_args, result);
  }

  Module module_;
  TVMFFISafeCallType symbol_;
  String name_;
  runtime::KnownFunction known_;
};

class LibraryModuleObj final : public ModuleObj {
 public:
  explicit LibraryModuleObj(std::shared_ptr<Library> library) : library_(std::move(library)) {
    ModuleClass<LibraryModuleObj>::Learn(this);
  }

  ~LibraryModuleObj() {
    // Clear the context slot only if the slot points at this module, because the slot may already
    // point at a later module over the same library.
    void* self = Address();
    if (context_slot_ != nullptr) {
      __atomic_compare_exchange_n(context_slot_, &self, nullptr, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE);
    }
  }

  const char* kind() const override { return "library"; }

  int GetPropertyMask() const override { return Module::kBinarySerializable | Module::kRunnable; }

  using ModuleObj::GetFunction;
  Optional<Function> GetFunction(const String& name) override {
    void* symbol = library_->FindFunction(name);
    if (symbol == nullptr) return std::nullopt;
    return Function(ObjectPtr<FunctionObj>(
        make_object<LibraryFunctionObj>(GetRef<Module>(this), symbol, name)));
  }

  using ModuleObj::ImplementsFunction;
  bool ImplementsFunction(const String& name) override {
    return library_->FindFunction(name) != nullptr;
  }

  using ModuleObj::GetFunctionDoc;
  Optional<String> GetFunctionDoc(const String& name) override {
    return CallText(symbol::tvm_ffi_doc_prefix + std::string(name));
  }

  using ModuleObj::GetFunctionMetadata;
  Optional<String> GetFunctionMetadata(const String& name) override {
    return CallText(symbol::tvm_ffi_metadata_prefix + std::string(name));
  }

  const Library& library() const { return *library_; }

  void FillContextSlot() {
    context_slot_ = FindSlot(*library_, symbol::tvm_ffi_library_ctx);
    if (context_slot_ != nullptr) __atomic_store_n(context_slot_, Address(), __ATOMIC_RELEASE);
  }

 private:
  // Returns the address to store in the symbol `__tvm_ffi__library_ctx`.  This is the address of
  // the C++ object, which is 8 bytes before the object handle.
  void* Address() { return static_cast<ModuleObj*>(this); }

  // Calls a function of the library that returns a string, and returns the string; nullopt if the
  // library has no such symbol.
  Optional<String> CallText(const std::string& symbol) const {
    void* function = library_->Find(symbol);
    if (function == nullptr) return std::nullopt;
    return Function::InvokeExternC(nullptr, reinterpret_cast<TVMFFISafeCallType>(function))
        .cast<Optional<String>>();
  }

  std::shared_ptr<Library> library_;
  void** context_slot_ = nullptr;
};

}  // namespace

LoadedLibrary LoadLibrary(std::unique_ptr<Library> library) {
  std::shared_ptr<Library> shared = std::move(library);
  BindContextSymbols(*shared);
  const void* embedded = shared->FindOwn(symbol::tvm_ffi_library_bin);
  if (embedded == nullptr) {
    Module module(make_object<LibraryModuleObj>(std::move(shared)));
    return {module, module};
  }
  std::string name = shared->Name();
  // Fail before the stack overflows.  The loader of an embedded module may load libraries, and the
  // recursion would not end if the loader loaded this library again.
  if (NativeStackRoom() == StackRoom::kLow) {
    TVM_FFI_THROW(RuntimeError)
        << "Failed to load " << name
        << ": the libraries that load one another are nested too deep for the stack";
  }
  LibraryBinary binary =
      DecodeLibraryBinary(platform::SymbolBytes(embedded, symbol::tvm_ffi_library_bin), name);
  std::vector<Module> libraries;
  for (const LibraryBinary::Entry& entry : binary.entries) {
    if (entry.IsLibrary()) libraries.emplace_back(make_object<LibraryModuleObj>(shared));
  }
  Module root = BuildModuleTree(binary, libraries, name);
  return {libraries.empty() ? std::nullopt : std::make_optional(libraries.back()), root};
}

void FillContextSlot(const LoadedLibrary& loaded) {
  if (!loaded.library.has_value()) return;
  static_cast<LibraryModuleObj*>(loaded.library->get())->FillContextSlot();
}

Array<String> LibraryFunctionNames(const Module& module) {
  const LibraryModuleObj* own = ModuleClass<LibraryModuleObj>::From(module);
  Array<String> names;
  if (own == nullptr) return names;
  for (const std::string& name : own->library().FunctionNames()) names.push_back(name);
  return names;
}

const void* CodeOfFunction(void* function, const void* entry) {
  return LibraryFunctionObj::CodeOf(function, entry);
}

}  // namespace tvm::ffi::extra
