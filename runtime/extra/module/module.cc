// SPDX-License-Identifier: Apache-2.0
// Module imports, function lookup and file loading: the exported functions of ModuleObj and Module.
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/reflection/registry.h>

#include <mutex>
#include <unordered_set>
#include <vector>

#include "../core/extra_layer.h"
#include "module/attached_metadata.h"
#include "registration.h"

namespace tvm {
namespace ffi {

// Hidden, because the class around it is exported.
struct TVM_FFI_HIDDEN_ ModuleObj::InternalUnsafe {
  // Pushes the imports of the module on the stack, so that the first import is at the top.
  static void PushImports(const ModuleObj* module, std::vector<Module>* stack);
  // Returns true if `from` is `target` or imports `target` directly or indirectly.  The caller
  // holds ImportsMutex.
  static bool Reaches(const ModuleObj* from, const ModuleObj* target);
  // Returns the function with the name from the imports of the module or, if no import has such a
  // function, the global function with the name.  The module caches the first result forever,
  // because generated code also caches it.
  static Function LookupFromImports(ModuleObj* module, const String& name);
  // Registers the fields of ffi.Module.
  static void RegisterType();
};

namespace {

// Guards imports_ and import_lookup_cache_ of all modules.  No third-party code runs while the
// mutex is locked, because a module's GetFunction may look up other functions, or wait for the GIL
// while the thread that holds the GIL waits for this mutex.
std::mutex& ImportsMutex() {
  static auto* mutex = new std::mutex();
  return *mutex;
}

bool IsFound(bool implemented) { return implemented; }
template <typename T>
bool IsFound(const Optional<T>& result) {
  return result.has_value();
}

// Returns the first result that query(module) finds in the modules on the stack and their imports,
// depth first.  Each module is queried once, also if several modules import it.
template <typename Query>
auto QueryDepthFirst(std::vector<Module> stack, Query&& query) -> decltype(query(nullptr)) {
  std::unordered_set<Module, ObjectPtrHash, ObjectPtrEqual> visited;
  while (!stack.empty()) {
    Module module = std::move(stack.back());
    stack.pop_back();
    if (!visited.insert(module).second) continue;
    auto result = query(module.get());
    if (IsFound(result)) return result;
    ModuleObj::InternalUnsafe::PushImports(module.get(), &stack);
  }
  return decltype(query(nullptr))();
}

// Returns the result of query(module).  If that result is empty and query_imports is true, returns
// the first result for the imports of the module.
template <typename Query>
auto QueryWithImports(ModuleObj* module, bool query_imports, Query&& query)
    -> decltype(query(nullptr)) {
  auto own = query(module);
  if (IsFound(own) || !query_imports) return own;
  std::vector<Module> stack;
  ModuleObj::InternalUnsafe::PushImports(module, &stack);
  return QueryDepthFirst(std::move(stack), query);
}

// Returns the path of a shared library without the version after its suffix, as in libm.so.6.
std::string_view WithoutVersion(std::string_view path) {
  std::string_view rest = path;
  for (size_t dot = rest.rfind('.'); dot != rest.npos; dot = rest.rfind('.')) {
    std::string_view suffix = rest.substr(dot + 1);
    if (suffix == "so") return rest;
    if (suffix.empty() || suffix.find_first_not_of("0123456789") != suffix.npos) break;
    rest = rest.substr(0, dot);
  }
  return path;
}

std::string_view FileExtension(std::string_view full_path) {
  std::string_view path = WithoutVersion(full_path);
  size_t dot = path.rfind('.');
  size_t slash = path.rfind('/');
  if (dot == std::string_view::npos || (slash != std::string_view::npos && dot < slash)) {
    TVM_FFI_THROW(RuntimeError) << "Failed to load " << full_path
                                << ": expected a file name with an extension";
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
  Optional<Function> found = QueryDepthFirst(
      std::move(stack), [&](ModuleObj* import) { return import->GetFunction(name); });
  if (!found.has_value()) found = Function::GetGlobal(name);
  if (!found.has_value()) {
    TVM_FFI_THROW(RuntimeError) << "Cannot find function " << name
                                << " in the imported modules or global registry.";
  }
  std::lock_guard<std::mutex> lock(ImportsMutex());
  // If another thread has cached a function for this name since the lookup, return that function,
  // so that all callers get the same function.
  if (std::optional<Function> cached = module->import_lookup_cache_.Get(name)) return *cached;
  module->import_lookup_cache_.Set(name, *found);
  return *found;
}

namespace {

// Getter of the field of ffi.Module that contains the imports.  Takes the lock, because another
// thread may add an import concurrently and replace or extend the array.
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
  if (is_cyclic) {
    TVM_FFI_THROW(RuntimeError)
        << "a module must not import itself, directly or through other modules";
  }
}

void ModuleObj::ClearImports() {
  // The variable is declared before the lock, so that the modules are released after the mutex is
  // unlocked.
  Array<Any> dropped;
  std::lock_guard<std::mutex> lock(ImportsMutex());
  std::swap(imports_, dropped);
}

Optional<Function> ModuleObj::GetFunction(const String& name, bool query_imports) {
  Optional<Function> found = QueryWithImports(
      this, query_imports, [&](ModuleObj* module) { return module->GetFunction(name); });
  // Third-party modules create functions that no list contains.
  if (found.has_value()) {
    runtime::ShowToObservers(detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(*found),
                             {name.data(), name.size()});
  }
  return found;
}

bool ModuleObj::ImplementsFunction(const String& name, bool query_imports) {
  return QueryWithImports(this, query_imports,
                          [&](ModuleObj* module) { return module->ImplementsFunction(name); });
}

Optional<String> ModuleObj::GetFunctionDoc(const String& name, bool query_imports) {
  return QueryWithImports(this, query_imports, [&](ModuleObj* module) {
    Optional<String> attached = extra::FindAttachedMetadata(module, name).doc;
    return attached.has_value() ? attached : module->GetFunctionDoc(name);
  });
}

Optional<String> ModuleObj::GetFunctionMetadata(const String& name, bool query_imports) {
  return QueryWithImports(this, query_imports, [&](ModuleObj* module) {
    Optional<String> attached = extra::FindAttachedMetadata(module, name).metadata;
    return attached.has_value() ? attached : module->GetFunctionMetadata(name);
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
  TVM_FFI_THROW(TypeError) << "the loader `" << loader_name << "` must return `ffi.Module`, got `"
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
  *out =
      // The result is borrowed, because the cache of the module owns the function.
      detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(function);
  TVM_FFI_SAFE_CALL_END();
}
