// SPDX-License-Identifier: Apache-2.0
// Global functions over modules.
#include <mutex>
#include <unordered_set>
#include <vector>

#include "builtin.h"
#include "error.h"
#include "library_module.h"
#include "module.h"
#include "text.h"

namespace tvm::ffi::runtime {
namespace {

ModuleRef ModuleArg(const Arguments& args, int32_t i = 0) {
  return ModuleRef::Share(static_cast<TVMFFIObjectHandle>(args.Object(i, kTVMFFIModule)));
}

Value NameArg(const Arguments& args) { return Value::String(args.Text(1)); }

Value LoadFromFile(const Arguments& args) { return Value::FromObject(LoadModule(args.Text(0))); }

Value LoadSharedLibrary(const Arguments& args) {
  args.Text(1);  // the format; this loader serves one
  return Value::FromObject(LoadLibraryModule(args.Text(0)));
}

Value GetFunction(const Arguments& args) {
  return Value::FromObject(ModuleArg(args)->GetFunction(NameArg(args), args.Bool(2)));
}

Value ImplementsFunction(const Arguments& args) {
  return Value::Bool(ModuleArg(args)->ImplementsFunction(NameArg(args), args.Bool(2)));
}

Value GetFunctionMetadata(const Arguments& args) {
  return ModuleArg(args)->GetFunctionMetadata(NameArg(args), args.Bool(2));
}

Value GetFunctionDoc(const Arguments& args) {
  return ModuleArg(args)->GetFunctionDoc(NameArg(args), args.Bool(2));
}

Value GetKind(const Arguments& args) { return Value::String(ModuleArg(args)->kind()); }

Value GetPropertyMask(const Arguments& args) {
  return Value::Int(ModuleArg(args)->GetPropertyMask());
}

Value GetWriteFormats(const Arguments& args) {
  return Value::FromObject(ModuleArg(args)->GetWriteFormats());
}

Value InspectSource(const Arguments& args) { return ModuleArg(args)->InspectSource(NameArg(args)); }

Value WriteToFile(const Arguments& args) {
  ModuleArg(args)->WriteToFile(NameArg(args), Value::String(args.Text(2)));
  return Value();
}

Value ImportModule(const Arguments& args) {
  ModuleArg(args)->ImportModule(ModuleArg(args, 1));
  return Value();
}

Value ClearImports(const Arguments& args) {
  ModuleArg(args)->ClearImports();
  return Value();
}

// Modules that stay for the life of the process.
struct PinnedModules {
  std::mutex mutex;
  std::unordered_set<TVMFFIObject*> modules;  // owned references

  static PinnedModules& Global() {
    static auto* pinned = new PinnedModules();
    return *pinned;
  }
};

Value PinModule(const Arguments& args) {
  ModuleRef module = ModuleArg(args);
  std::lock_guard<std::mutex> lock(PinnedModules::Global().mutex);
  if (PinnedModules::Global().modules.insert(module.header()).second) module.release();
  return Value();
}

Value UnpinModule(const Arguments& args) {
  ModuleRef module = ModuleArg(args);
  ModuleRef pinned;  // dies after the lock is gone: a module's end may run foreign code
  std::lock_guard<std::mutex> lock(PinnedModules::Global().mutex);
  if (PinnedModules::Global().modules.erase(module.header()) != 0) {
    pinned = ModuleRef::Adopt(static_cast<TVMFFIObjectHandle>(module.header()));
  }
  return Value();
}

}  // namespace

void RegisterModuleFunctions() {
  static const auto* builtins = new std::vector<Builtin>{
      {"ffi.ModuleLoadFromFile", "ffi.Module", {"ffi.String"}, &LoadFromFile},
      {"ffi.Module.load_from_file.so",
       "ffi.Module",
       {"ffi.String", "ffi.String"},
       &LoadSharedLibrary},
      {"ffi.ModuleGetFunction",
       "Optional<ffi.Function>",
       {"ffi.Module", "ffi.String", "bool"},
       &GetFunction},
      {"ffi.ModuleImplementsFunction",
       "bool",
       {"ffi.Module", "ffi.String", "bool"},
       &ImplementsFunction},
      {"ffi.ModuleGetFunctionMetadata",
       "Optional<ffi.String>",
       {"ffi.Module", "ffi.String", "bool"},
       &GetFunctionMetadata},
      {"ffi.ModuleGetFunctionDoc",
       "Optional<ffi.String>",
       {"ffi.Module", "ffi.String", "bool"},
       &GetFunctionDoc},
      {"ffi.ModuleGetKind", "ffi.String", {"ffi.Module"}, &GetKind},
      {"ffi.ModuleGetPropertyMask", "int", {"ffi.Module"}, &GetPropertyMask},
      {"ffi.ModuleGetWriteFormats", "ffi.Array<ffi.String>", {"ffi.Module"}, &GetWriteFormats},
      {"ffi.ModuleInspectSource", "ffi.String", {"ffi.Module", "ffi.String"}, &InspectSource},
      {"ffi.ModuleWriteToFile", "None", {"ffi.Module", "ffi.String", "ffi.String"}, &WriteToFile},
      {"ffi.ModuleImportModule", "None", {"ffi.Module", "ffi.Module"}, &ImportModule},
      {"ffi.ModuleClearImports", "None", {"ffi.Module"}, &ClearImports},
      {"ffi.ModuleGlobalsAdd", "None", {"ffi.Module"}, &PinModule},
      {"ffi.ModuleGlobalsRemove", "None", {"ffi.Module"}, &UnpinModule},
  };
  RegisterBuiltins(*builtins);
}

}  // namespace tvm::ffi::runtime
