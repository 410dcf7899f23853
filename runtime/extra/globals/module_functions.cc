// SPDX-License-Identifier: Apache-2.0
// Global functions over modules.
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/reflection/registry.h>

#include <map>
#include <mutex>
#include <optional>
#include <unordered_set>

#include "module/described_functions.h"
#include "module/library/library_module.h"
#include "registration.h"

namespace tvm::ffi::extra {
namespace {

// One module per prefix, for the life of the process.
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
  // The first module of a prefix is the one for all.
  Module Add(const std::string& prefix, const LoadedLibrary& loaded) {
    std::lock_guard<std::mutex> lock(mutex);
    auto [entry, is_new] = modules.emplace(prefix, loaded.root);
    if (is_new) FillContextSlot(loaded);
    return entry->second;
  }
};

Module SystemLibraryModule(const std::string& prefix) {
  if (std::optional<Module> known = SystemModules::Global().Find(prefix)) return *known;
  // Without the lock: loaders of embedded modules are foreign code.
  LoadedLibrary loaded = LoadLibrary(OpenSystemLibrary(prefix));
  return SystemModules::Global().Add(prefix, loaded);
}

void SystemLib(PackedArgs args, Any* result) {
  if (args.size() > 1) {
    TVM_FFI_THROW(TypeError) << "ffi.SystemLib takes a prefix of symbols or nothing, but got "
                             << args.size() << " arguments";
  }
  *result = SystemLibraryModule(args.size() < 1 ? "" : args[0].cast<std::string>());
}

// Modules that stay for the life of the process, or until they are removed.
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

// The caller's reference is the one that goes last, without the lock: a module's end may run
// foreign code.
void Unpin(const Module& module) {
  std::lock_guard<std::mutex> lock(PinnedModules::Global().mutex);
  PinnedModules::Global().modules.erase(module);
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
      // Not in the contract, so outside of its prefix.
      .def_method("pytvmffi.ModuleSaveToBytes", &ModuleObj::SaveToBytes)
      // What the module itself says, without what was said from outside.
      .def("pytvmffi.ModuleGetOwnFunctionMetadata",
           [](Module module, const String& name) { return module->GetFunctionMetadata(name); })
      .def("pytvmffi.ModuleDescribeFunction",
           [](const Module& module, const String& name, Optional<String> metadata,
              Optional<String> doc) {
             DescribeFunction(module, name, {std::move(metadata), std::move(doc)});
           })
      .def("pytvmffi.Module.function_names.library", &LibraryFunctionNames);
}

}  // namespace tvm::ffi::extra
