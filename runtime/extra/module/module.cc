// SPDX-License-Identifier: Apache-2.0
// The part of ModuleObj and Module that libtvm_ffi exports.
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/reflection/registry.h>

#include <mutex>
#include <unordered_set>
#include <vector>

#include "module/described_functions.h"
#include "registration.h"

namespace tvm {
namespace ffi {

struct ModuleObj::InternalUnsafe {
  // Puts what the module imports on the stack, the first on top.
  static void PushImports(const ModuleObj* module, std::vector<Module>* stack);
  // Whether `from` is the target or imports it, directly or not.  The lock must be held.
  static bool Reaches(const ModuleObj* from, const ModuleObj* target);
  // For generated code: a function of the imports, else a global one.  The module keeps what it
  // found once, and answers the same ever after, because generated code keeps it as well.
  static Function LookupFromImports(ModuleObj* module, const String& name);
  // Fields and metadata of the type.
  static void RegisterType();
};

namespace {

// Guards imports_ and import_lookup_cache_ of all modules.  Foreign code never runs under it: a
// client's GetFunction may look up further functions, or wait for the lock of an interpreter whose
// holder waits for this one.
std::mutex& ImportsMutex() {
  static auto* mutex = new std::mutex();
  return *mutex;
}

bool IsFound(bool implemented) { return implemented; }
template <typename T>
bool IsFound(const Optional<T>& answer) {
  return answer.has_value();
}

// The first answer of the modules on the stack and of what they import, depth first.  No module is
// asked twice, so that diamonds cost no more than their modules.
template <typename Ask>
auto AskDepthFirst(std::vector<Module> stack, Ask&& ask) -> decltype(ask(nullptr)) {
  std::unordered_set<Module, ObjectPtrHash, ObjectPtrEqual> asked;
  while (!stack.empty()) {
    Module module = std::move(stack.back());
    stack.pop_back();
    if (!asked.insert(module).second) continue;
    auto answer = ask(module.get());
    if (IsFound(answer)) return answer;
    ModuleObj::InternalUnsafe::PushImports(module.get(), &stack);
  }
  return decltype(ask(nullptr))();
}

// What the module itself answers, then its imports when they are wanted.
template <typename Ask>
auto AskWithImports(ModuleObj* module, bool query_imports, Ask&& ask) -> decltype(ask(nullptr)) {
  auto own = ask(module);
  if (IsFound(own) || !query_imports) return own;
  std::vector<Module> stack;
  ModuleObj::InternalUnsafe::PushImports(module, &stack);
  return AskDepthFirst(std::move(stack), ask);
}

std::string_view FileExtension(std::string_view path) {
  size_t dot = path.rfind('.');
  size_t slash = path.rfind('/');
  if (dot == std::string_view::npos || (slash != std::string_view::npos && dot < slash)) {
    TVM_FFI_THROW(RuntimeError) << "Failed to get file format from " << path;
  }
  std::string_view extension = path.substr(dot + 1);
  bool is_shared_library = extension == "dll" || extension == "dylib" || extension == "dso";
  return is_shared_library ? std::string_view("so") : extension;
}

}  // namespace

void ModuleObj::InternalUnsafe::PushImports(const ModuleObj* module, std::vector<Module>* stack) {
  std::lock_guard<std::mutex> lock(ImportsMutex());
  const Array<Any>& imports = module->imports_;
  for (size_t i = imports.size(); i-- > 0;) {
    stack->push_back(imports[static_cast<int64_t>(i)].cast<Module>());
  }
}

bool ModuleObj::InternalUnsafe::Reaches(const ModuleObj* from, const ModuleObj* target) {
  std::unordered_set<const ModuleObj*> seen;
  std::vector<const ModuleObj*> stack = {from};
  while (!stack.empty()) {
    const ModuleObj* module = stack.back();
    stack.pop_back();
    if (module == target) return true;
    if (module == nullptr || !seen.insert(module).second) continue;
    for (const Any& import : module->imports_) stack.push_back(import.as<ModuleObj>());
  }
  return false;
}

Function ModuleObj::InternalUnsafe::LookupFromImports(ModuleObj* module, const String& name) {
  {
    std::lock_guard<std::mutex> lock(ImportsMutex());
    if (std::optional<Function> cached = module->import_lookup_cache_.Get(name)) return *cached;
  }
  std::vector<Module> stack;
  PushImports(module, &stack);
  Optional<Function> found =
      AskDepthFirst(std::move(stack), [&](ModuleObj* import) { return import->GetFunction(name); });
  if (!found.has_value()) found = Function::GetGlobal(name);
  if (!found.has_value()) {
    TVM_FFI_THROW(RuntimeError) << "Cannot find function " << name
                                << " in the imported modules or global registry.";
  }
  std::lock_guard<std::mutex> lock(ImportsMutex());
  // Another thread may have been faster: there is one answer for all.
  if (std::optional<Function> cached = module->import_lookup_cache_.Get(name)) return *cached;
  module->import_lookup_cache_.Set(name, *found);
  return *found;
}

namespace {

// Another thread may import meanwhile, which replaces the array or extends it in place.
int GetImports(void* field, TVMFFIAny* result) {
  TVM_FFI_SAFE_CALL_BEGIN();
  std::lock_guard<std::mutex> lock(ImportsMutex());
  Any imports = *static_cast<const Array<Any>*>(field);
  *result = detail::AnyUnsafe::MoveAnyToTVMFFIAny(std::move(imports));
  TVM_FFI_SAFE_CALL_END();
}

struct ReadWithLock : reflection::InfoTrait {
  void Apply(reflection::FieldInfoBuilder* info) const { info->getter = &GetImports; }
};

}  // namespace

void ModuleObj::InternalUnsafe::RegisterType() {
  namespace refl = reflection;
  refl::ObjectDef<ModuleObj>(refl::init(false))
      .def_ro("imports_", &ModuleObj::imports_, ReadWithLock());
}

void ModuleObj::ImportModule(const Module& other) {
  if (!other.defined()) detail::ThrowNullReference(_type_key);
  bool is_cyclic;
  {
    std::lock_guard<std::mutex> lock(ImportsMutex());
    is_cyclic = InternalUnsafe::Reaches(other.get(), this);
    if (!is_cyclic) imports_.push_back(other);
  }
  if (is_cyclic) TVM_FFI_THROW(RuntimeError) << "Cyclic dependency detected during import";
}

void ModuleObj::ClearImports() {
  Array<Any> dropped;  // the modules die after the lock is gone
  std::lock_guard<std::mutex> lock(ImportsMutex());
  std::swap(imports_, dropped);
}

Optional<Function> ModuleObj::GetFunction(const String& name, bool query_imports) {
  return AskWithImports(this, query_imports,
                        [&](ModuleObj* module) { return module->GetFunction(name); });
}

bool ModuleObj::ImplementsFunction(const String& name, bool query_imports) {
  return AskWithImports(this, query_imports,
                        [&](ModuleObj* module) { return module->ImplementsFunction(name); });
}

Optional<String> ModuleObj::GetFunctionDoc(const String& name, bool query_imports) {
  return AskWithImports(this, query_imports, [&](ModuleObj* module) {
    Optional<String> described = extra::DescriptionOf(module, name).doc;
    return described.has_value() ? described : module->GetFunctionDoc(name);
  });
}

Optional<String> ModuleObj::GetFunctionMetadata(const String& name, bool query_imports) {
  return AskWithImports(this, query_imports, [&](ModuleObj* module) {
    Optional<String> described = extra::DescriptionOf(module, name).metadata;
    return described.has_value() ? described : module->GetFunctionMetadata(name);
  });
}

Module Module::LoadFromFile(const String& file_name) {
  std::string_view extension = FileExtension(std::string_view(file_name.data(), file_name.size()));
  std::string loader_name = "ffi.Module.load_from_file." + std::string(extension);
  std::optional<Function> loader = Function::GetGlobal(loader_name);
  if (!loader.has_value()) {
    TVM_FFI_THROW(RuntimeError) << "Loader for `." << extension
                                << "` files is not registered, cannot load " << file_name
                                << "; register a global function `" << loader_name << "`";
  }
  Any loaded = (*loader)(file_name, String(extension.data(), extension.size()));
  if (std::optional<Module> module = loaded.as<Module>()) return *std::move(module);
  TVM_FFI_THROW(TypeError) << "the loader `" << loader_name
                           << "` made no module: expected `ffi.Module` but got `"
                           << loaded.GetTypeKey() << "`";
  TVM_FFI_UNREACHABLE();
}

namespace extra {
void RegisterModuleType() { ModuleObj::InternalUnsafe::RegisterType(); }
}  // namespace extra

}  // namespace ffi
}  // namespace tvm

using namespace tvm::ffi;

int TVMFFIEnvModLookupFromImports(TVMFFIObjectHandle library_ctx, const char* func_name,
                                  TVMFFIObjectHandle* out) {
  TVM_FFI_SAFE_CALL_BEGIN();
  if (library_ctx == nullptr) {
    TVM_FFI_THROW(RuntimeError) << "Cannot find function " << func_name
                                << ": the library context is NULL; was the library loaded as a "
                                   "module?";
  }
  Function function =
      ModuleObj::InternalUnsafe::LookupFromImports(static_cast<ModuleObj*>(library_ctx), func_name);
  *out = detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(function);  // the cache keeps it
  TVM_FFI_SAFE_CALL_END();
}
