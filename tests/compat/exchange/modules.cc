// SPDX-License-Identifier: Apache-2.0
// Modules: a class with data members, derived in one library, which the other library calls and
// imports through the virtual functions of the base class.
#include <tvm/ffi/cast.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/memory.h>

#include <string>

#include "check.h"

namespace exchange {

using namespace tvm::ffi;

int64_t& LiveModules() {
  static int64_t count = 0;
  return count;
}

class CountingModuleObj : public ModuleObj {
 public:
  explicit CountingModuleObj(String name) : name_(std::move(name)) { ++LiveModules(); }
  ~CountingModuleObj() { --LiveModules(); }
  const char* kind() const final { return "exchange.counting"; }
  int GetPropertyMask() const final { return Module::kRunnable | Module::kBinarySerializable; }
  Optional<Function> GetFunction(const String& name) final {
    if (name == "count") {
      // The function keeps a reference to the module and changes its counter.
      ObjectPtr<Object> self = GetObjectPtr<Object>(this);
      return Function::FromTyped([self, this]() { return ++count_; });
    }
    if (name == name_) return Function::FromTyped([name]() { return name; });
    return std::nullopt;
  }
  Optional<String> GetFunctionDoc(const String& name) final {
    return name == "count" ? Optional<String>(String("Counts its calls.")) : std::nullopt;
  }
  Array<String> GetWriteFormats() const final { return {"text", "another format"}; }
  Bytes SaveToBytes() const final { return Bytes(static_cast<std::string>(name_)); }
  String InspectSource(const String& format) const final { return name_ + " as " + format; }

 private:
  String name_;
  int64_t count_ = 0;
};

Module NewModule(String name) { return Module(make_object<CountingModuleObj>(std::move(name))); }
Module MakeModule(Any, String name) { return NewModule(std::move(name)); }

// Calls the module through its vtable, like C++ clients.
Module CallModule(Module module, String name) {
  CHECK_EQ(std::string(module->kind()), "exchange.counting");
  CHECK_EQ(module.GetTypeKey(), "ffi.Module");
  ModuleObj* object = const_cast<ModuleObj*>(module.operator->());
  CHECK_EQ(object->GetPropertyMask(), 3);
  CHECK_EQ(object->GetFunction(name).value()().cast<String>(), name);
  CHECK(!object->GetFunction("missing").has_value());
  CHECK(object->ImplementsFunction("count"));
  CHECK(!object->ImplementsFunction("missing"));
  CHECK_EQ(object->GetFunctionDoc("count").value(), "Counts its calls.");
  CHECK(!object->GetFunctionMetadata("count").has_value());
  CHECK_EQ(object->GetWriteFormats()[1], "another format");
  CHECK_EQ(static_cast<std::string>(object->SaveToBytes()), static_cast<std::string>(name));
  CHECK_EQ(object->InspectSource("text"), name + " as text");
  std::string message;
  try {
    object->WriteToFile("file", "text");
  } catch (const Error& error) {
    message = error.kind() + ": " + error.message();
  }
  CHECK_EQ(message, "RuntimeError: Module[exchange.counting] does not support WriteToFile");
  return module;
}
// Calls the module through the runtime's global functions, like Python.
Module UseModule(Module module, String name) {
  auto call = [](const char* function, auto&&... args) {
    return Function::GetGlobalRequired(std::string("ffi.Module") +
                                       function)(std::forward<decltype(args)>(args)...);
  };
  CHECK_EQ(call("GetKind", module).template cast<String>(), "exchange.counting");
  CHECK(call("ImplementsFunction", module, name, false).template cast<bool>());
  Function named = call("GetFunction", module, name, false).template cast<Function>();
  CHECK_EQ(named().cast<String>(), name);
  CHECK_EQ(call("GetFunctionDoc", module, "count", false).template cast<String>(),
           "Counts its calls.");
  CHECK_EQ(call("InspectSource", module, "C").template cast<String>(), name + " as C");
  return module;
}
// A function stays valid after the last reference to its module is released.
Function TakeCounter(Module module) {
  Function count = const_cast<ModuleObj*>(module.operator->())->GetFunction("count").value();
  CHECK_EQ(count().cast<int64_t>(), 1);
  return count;
}
void CheckModuleCounter(Function count) { CHECK_EQ(count().cast<int64_t>(), 2); }
Any CheckLiveModules(Any value, int64_t count) {
  CHECK_EQ(LiveModules(), count);
  return value;
}

// Imports a module of this library into the other library's module: look-ups with imports find its
// functions.
Module ImportModule(Module module) {
  ModuleObj* object = const_cast<ModuleObj*>(module.operator->());
  object->ImportModule(NewModule("imported"));
  CHECK_EQ(object->imports().size(), size_t{1});
  CHECK(!object->GetFunction("imported", false).has_value());
  CHECK_EQ(object->GetFunction("imported", true).value()().cast<String>(), "imported");
  CHECK(object->ImplementsFunction("imported", true));
  return module;
}
Module CheckImports(Module module) {
  ModuleObj* object = const_cast<ModuleObj*>(module.operator->());
  Module imported = object->imports()[0].cast<Module>();
  CHECK_EQ(std::string(imported->kind()), "exchange.counting");
  CHECK_EQ(imported->InspectSource("C"), "imported as C");
  CHECK_EQ(object->GetFunction("imported", true).value()().cast<String>(), "imported");
  std::string message;
  try {
    const_cast<ModuleObj*>(imported.operator->())->ImportModule(module);
  } catch (const Error& error) {
    message = error.kind();
  }
  CHECK_EQ(message, "RuntimeError");
  return module;
}
Module ClearImports(Module module) {
  ModuleObj* object = const_cast<ModuleObj*>(module.operator->());
  object->ClearImports();
  CHECK(object->imports().empty());
  return module;
}

}  // namespace exchange

TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_module, exchange::MakeModule)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(call_module, exchange::CallModule)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(use_module, exchange::UseModule)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(take_counter, exchange::TakeCounter)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_module_counter, exchange::CheckModuleCounter)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_live_modules, exchange::CheckLiveModules)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(import_module, exchange::ImportModule)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_imports, exchange::CheckImports)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(clear_imports, exchange::ClearImports)
