// SPDX-License-Identifier: Apache-2.0
#include "module.h"

#include <unordered_set>

#include "error.h"
#include "function_table.h"
#include "text.h"
#include "type_table.h"

namespace tvm::ffi::runtime {

static_assert(sizeof(ModuleObject) == 48, "vptr 8, header 24, imports 8, lookup cache 8");

namespace {

ModuleRef ModuleAt(const Ref<ArrayObject>& array, int64_t i) {
  return ModuleRef::Share(static_cast<TVMFFIAny*>(array->data)[i].v_obj);
}

std::string_view FileExtension(std::string_view path) {
  size_t dot = path.rfind('.');
  size_t slash = path.rfind('/');
  if (dot == std::string_view::npos || (slash != std::string_view::npos && dot < slash)) {
    Raise("RuntimeError", "Failed to get file format from ", path);
  }
  std::string_view extension = path.substr(dot + 1);
  bool is_shared_library = extension == "dll" || extension == "dylib" || extension == "dso";
  return is_shared_library ? std::string_view("so") : extension;
}

bool IsFound(const Ref<FunctionObject>& function) { return static_cast<bool>(function); }
bool IsFound(const Value& text) { return !text.IsNone(); }
bool IsFound(bool implemented) { return implemented; }

}  // namespace

int ModuleObject::GetPropertyMask() const { return 0; }

bool ModuleObject::ImplementsFunction(const Value& name) { return IsFound(GetFunction(name)); }

Value ModuleObject::GetFunctionDoc(const Value& /*name*/) { return Value(); }

Value ModuleObject::GetFunctionMetadata(const Value& /*name*/) { return Value(); }

void ModuleObject::WriteToFile(const Value& /*path*/, const Value& /*format*/) const {
  Raise("RuntimeError", "Module[", kind(), "] does not support WriteToFile");
}

Ref<ArrayObject> ModuleObject::GetWriteFormats() const { return NewArray({}); }

Value ModuleObject::SaveToBytes() const {
  Raise("RuntimeError", "Module[", kind(), "] does not support SaveToBytes");
}

Value ModuleObject::InspectSource(const Value& /*format*/) const { return Value::String(""); }

void ModuleObject::ImportModule(const ModuleRef& other) {
  // A module that can reach this one through its imports must not be imported by it.
  std::unordered_set<const ModuleObject*> seen;
  std::vector<ModuleRef> stack = {other};
  while (!stack.empty()) {
    ModuleRef module = std::move(stack.back());
    stack.pop_back();
    if (module.get() == this) Raise("RuntimeError", "Cyclic dependency detected during import");
    if (!seen.insert(module.get()).second) continue;
    for (int64_t i = 0; i < module->imports_->size; ++i) {
      stack.push_back(ModuleAt(module->imports_, i));
    }
  }
  std::vector<Value> imports;
  for (int64_t i = 0; i < imports_->size; ++i) {
    imports.push_back(Value::FromObject(ModuleAt(imports_, i)));
  }
  imports.push_back(Value::FromObject(other));
  imports_ = NewArray(std::move(imports));
}

void ModuleObject::ClearImports() { imports_ = NewArray({}); }

template <typename Answer>
auto ModuleObject::SearchImports(Answer&& answer) -> decltype(answer(this)) {
  Ref<ArrayObject> imports = imports_;
  for (int64_t i = 0; i < imports->size; ++i) {
    auto found = answer(ModuleAt(imports, i).get());
    if (IsFound(found)) return found;
  }
  return decltype(answer(this))();
}

Ref<FunctionObject> ModuleObject::GetFunctionFromImports(const Value& name) {
  return SearchImports([&](ModuleObject* module) { return module->GetFunction(name, true); });
}

Ref<FunctionObject> ModuleObject::GetFunction(const Value& name, bool query_imports) {
  Ref<FunctionObject> own = GetFunction(name);
  return IsFound(own) || !query_imports ? own : GetFunctionFromImports(name);
}

bool ModuleObject::ImplementsFunction(const Value& name, bool query_imports) {
  bool own = ImplementsFunction(name);
  if (own || !query_imports) return own;
  return SearchImports(
      [&](ModuleObject* module) { return module->ImplementsFunction(name, true); });
}

Value ModuleObject::GetFunctionDoc(const Value& name, bool query_imports) {
  Value own = GetFunctionDoc(name);
  if (IsFound(own) || !query_imports) return own;
  return SearchImports([&](ModuleObject* module) { return module->GetFunctionDoc(name, true); });
}

Value ModuleObject::GetFunctionMetadata(const Value& name, bool query_imports) {
  Value own = GetFunctionMetadata(name);
  if (IsFound(own) || !query_imports) return own;
  return SearchImports(
      [&](ModuleObject* module) { return module->GetFunctionMetadata(name, true); });
}

ModuleRef ModuleFromHandle(TVMFFIObjectHandle handle) {
  auto* object = static_cast<TVMFFIObject*>(handle);
  int32_t index = object == nullptr ? kTVMFFINone : object->type_index;
  if (index != kTVMFFIModule) {
    Raise("TypeError", "expected `ffi.Module` but got `", TypeTable::Global().KeyOf(index), "`");
  }
  return ModuleRef::Share(handle);
}

ModuleRef LoadModule(std::string_view path) {
  std::string_view extension = FileExtension(path);
  std::string loader_name = Concat("ffi.Module.load_from_file.", extension);
  Ref<FunctionObject> loader = FunctionTable::Global().Find(loader_name);
  if (!loader) {
    Raise("RuntimeError", "Loader for `.", extension, "` files is not registered, cannot load ",
          path, "; register a global function `", loader_name, "`");
  }
  Value path_value = Value::String(path);
  Value format = Value::String(extension);
  TVMFFIAny args[] = {path_value.raw(), format.raw()};
  Value module = Call(loader, args, 2);
  return ModuleFromHandle(module.IsObject() ? module.raw().v_obj : nullptr);
}

}  // namespace tvm::ffi::runtime
