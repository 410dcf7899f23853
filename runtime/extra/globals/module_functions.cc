// SPDX-License-Identifier: Apache-2.0
// Global functions for modules (ffi.Module*, ffi.SystemLib).
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/reflection/registry.h>

#include <map>
#include <mutex>
#include <optional>
#include <unordered_set>

#include "module/attached_metadata.h"
#include "module/library/library_module.h"
#include "registration.h"

namespace tvm::ffi::extra {
namespace {

// The modules of the system library (symbols linked into the program), one for each symbol prefix.
// They live as long as the process.
struct SystemModules {
  std::mutex mutex;
  std::map<std::string, Module> modules;

  static SystemModules& Global() {
    static auto* table = new SystemModules();
    return *table;
  }
  std::optional<Module> Find(const std::string& prefix) {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = modules.find(prefix);
    if (found == modules.end()) return std::nullopt;
    return found->second;
  }
  // Adds and returns the module of a symbol prefix.  If another thread has already added a module
  // for the prefix, returns that module instead.
  Module Add(const std::string& prefix, const LoadedLibrary& loaded) {
    std::lock_guard<std::mutex> lock(mutex);
    auto [entry, is_new] = modules.emplace(prefix, loaded.root);
    if (is_new) FillContextSlot(loaded);
    return entry->second;
  }
};

Module SystemLibraryModule(const std::string& prefix) {
  if (std::optional<Module> known = SystemModules::Global().Find(prefix)) return *known;
  // Load the library before the mutex is locked, because loaders of embedded modules are
  // third-party code.
  LoadedLibrary loaded = LoadLibrary(OpenSystemLibrary(prefix));
  return SystemModules::Global().Add(prefix, loaded);
}

void SystemLib(PackedArgs args, Any* result) {
  if (args.size() > 1) {
    TVM_FFI_THROW(TypeError) << "ffi.SystemLib takes at most one argument, the symbol prefix, got "
                             << args.size() << " arguments";
  }
  *result = SystemLibraryModule(args.size() < 1 ? "" : args[0].cast<std::string>());
}

// The modules that the process keeps alive until ffi.ModuleGlobalsRemove removes them from this
// set.
struct PinnedModules {
  std::mutex mutex;
  std::unordered_set<Module, ObjectPtrHash, ObjectPtrEqual> modules;

  static PinnedModules& Global() {
    static auto* pinned = new PinnedModules();
    return *pinned;
  }
};

void Pin(const Module& module) {
  std::lock_guard<std::mutex> lock(PinnedModules::Global().mutex);
  PinnedModules::Global().modules.insert(module);
}

// Removes a module from the set.  The module's destructor may run third-party code, but does not
// run under the lock, because the caller's reference outlives this call.
void Unpin(const Module& module) {
  std::lock_guard<std::mutex> lock(PinnedModules::Global().mutex);
  PinnedModules::Global().modules.erase(module);
}

// Stores the address of a module in the data symbol `__tvm_ffi__library_ctx` of JIT-compiled code.
// The code may use the address until the process ends, so the module is pinned.
void SetLibraryContext(const Module& module, void* slot) {
  Pin(module);
  // The symbol contains the address of the C++ object, which is before the object handle.
  void* address = const_cast<ModuleObj*>(module.get());
  __atomic_store_n(static_cast<void**>(slot), address, __ATOMIC_RELEASE);
}

}  // namespace

void RegisterModuleFunctions() {
  namespace refl = ffi::reflection;
  refl::GlobalDef()
      .def("ffi.ModuleLoadFromFile", &Module::LoadFromFile)
      .def_packed("ffi.SystemLib", &SystemLib)
      .def_method("ffi.ModuleGetFunction",
                  refl::overload_cast<const String&, bool>(&ModuleObj::GetFunction))
      .def_method("ffi.ModuleImplementsFunction",
                  refl::overload_cast<const String&, bool>(&ModuleObj::ImplementsFunction))
      .def_method("ffi.ModuleGetFunctionMetadata",
                  refl::overload_cast<const String&, bool>(&ModuleObj::GetFunctionMetadata))
      .def_method("ffi.ModuleGetFunctionDoc",
                  refl::overload_cast<const String&, bool>(&ModuleObj::GetFunctionDoc))
      .def("ffi.ModuleGetKind", [](const Module& module) { return String(module->kind()); })
      .def_method("ffi.ModuleGetPropertyMask", &ModuleObj::GetPropertyMask)
      .def_method("ffi.ModuleGetWriteFormats", &ModuleObj::GetWriteFormats)
      .def_method("ffi.ModuleInspectSource", &ModuleObj::InspectSource)
      .def_method("ffi.ModuleWriteToFile", &ModuleObj::WriteToFile)
      .def_method("ffi.ModuleImportModule", &ModuleObj::ImportModule)
      .def_method("ffi.ModuleClearImports", &ModuleObj::ClearImports)
      .def("ffi.ModuleGlobalsAdd", &Pin)
      .def("ffi.ModuleGlobalsRemove", &Unpin)
      // The name does not have the prefix `ffi.`, because the function is not part of the ABI.
      .def_method("pytvmffi.ModuleSaveToBytes", &ModuleObj::SaveToBytes)
      // Returns the metadata that the module itself has for a function, and ignores attached
      // metadata.
      .def("pytvmffi.ModuleGetOwnFunctionMetadata",
           [](Module module, const String& name) { return module->GetFunctionMetadata(name); })
      .def("pytvmffi.ModuleSetLibraryContext", &SetLibraryContext)
      .def("pytvmffi.ModuleDescribeFunction",
           [](const Module& module, const String& name, Optional<String> metadata,
              Optional<String> doc) {
             AttachMetadata(module, name, {std::move(metadata), std::move(doc)});
           })
      .def("pytvmffi.Module.function_names.library", &LibraryFunctionNames);
}

}  // namespace tvm::ffi::extra
