// SPDX-License-Identifier: Apache-2.0
// Custom modules: module kinds that Python and other languages define with functions as methods.
//
// A method receives the module as its first argument.  The module owns a state value, which only
// the defining language reads, so all modules of a kind can share the method functions.
#include <tvm/ffi/cast.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/reflection/registry.h>

#include <string>
#include <utility>

#include "module/module_class.h"
#include "registration.h"

namespace tvm::ffi::extra {
namespace {

using Methods = Map<String, Function>;

// The methods of a module kind.  A method that the kind does not define is nullopt.
struct MethodTable {
  Optional<Function> get_function;
  Optional<Function> get_function_doc;
  Optional<Function> get_function_metadata;
  Optional<Function> get_write_formats;
  Optional<Function> inspect_source;
  Optional<Function> save_to_bytes;
  Optional<Function> write_to_file;

  explicit MethodTable(const Methods& methods) {
    for (const auto& [name, function] : methods) *Find(name) = function;
  }

 private:
  Optional<Function>* Find(const String& name) {
    if (name == "get_function") return &get_function;
    if (name == "get_function_doc") return &get_function_doc;
    if (name == "get_function_metadata") return &get_function_metadata;
    if (name == "get_write_formats") return &get_write_formats;
    if (name == "inspect_source") return &inspect_source;
    if (name == "save_to_bytes") return &save_to_bytes;
    if (name == "write_to_file") return &write_to_file;
    TVM_FFI_THROW(ValueError) << "modules have no method `" << name
                              << "`; expected get_function, get_function_doc, "
                                 "get_function_metadata, get_write_formats, inspect_source, "
                                 "save_to_bytes or write_to_file";
    TVM_FFI_UNREACHABLE();
  }
};

class CustomModuleObj final : public ModuleObj {
 public:
  CustomModuleObj(std::string kind, int property_mask, Any state, const Methods& methods)
      : kind_(std::move(kind)),
        property_mask_(property_mask),
        state_(std::move(state)),
        methods_(methods) {
    ModuleClass<CustomModuleObj>::Learn(this);
  }

  const Any& state() const { return state_; }

  const char* kind() const override { return kind_.c_str(); }
  int GetPropertyMask() const override { return property_mask_; }

  using ModuleObj::GetFunction;
  Optional<Function> GetFunction(const String& name) override {
    return CallFor<Function>(methods_.get_function, name);
  }
  using ModuleObj::GetFunctionDoc;
  Optional<String> GetFunctionDoc(const String& name) override {
    return CallFor<String>(methods_.get_function_doc, name);
  }
  using ModuleObj::GetFunctionMetadata;
  Optional<String> GetFunctionMetadata(const String& name) override {
    return CallFor<String>(methods_.get_function_metadata, name);
  }
  void WriteToFile(const String& file_name, const String& format) const override {
    if (!methods_.write_to_file.has_value()) return ModuleObj::WriteToFile(file_name, format);
    methods_.write_to_file.value()(GetRef<Module>(this), file_name, format);
  }
  Array<String> GetWriteFormats() const override {
    if (!methods_.get_write_formats.has_value()) return ModuleObj::GetWriteFormats();
    return methods_.get_write_formats.value()(GetRef<Module>(this)).cast<Array<String>>();
  }
  Bytes SaveToBytes() const override {
    if (!methods_.save_to_bytes.has_value()) return ModuleObj::SaveToBytes();
    return methods_.save_to_bytes.value()(GetRef<Module>(this)).cast<Bytes>();
  }
  String InspectSource(const String& format) const override {
    if (!methods_.inspect_source.has_value()) return ModuleObj::InspectSource(format);
    return methods_.inspect_source.value()(GetRef<Module>(this), format).cast<String>();
  }

 private:
  template <typename T>
  Optional<T> CallFor(const Optional<Function>& method, const String& name) const {
    if (!method.has_value()) return std::nullopt;
    return method.value()(GetRef<Module>(this), name).template cast<Optional<T>>();
  }

  std::string kind_;
  int property_mask_;
  Any state_;
  MethodTable methods_;
};

// Throws ValueError for a kind that no module may have.  These are: "", because the kind is part of
// the loader's name; text with NUL, because the kind is a C string; and `_lib`, because it means
// the library itself in an embedded module tree.
void CheckKind(const String& kind) {
  std::string_view text(kind.data(), kind.size());
  if (text.empty() || text == "_lib" || text.find('\0') != std::string_view::npos) {
    TVM_FFI_THROW(ValueError) << "module kind: expected a str that is not empty, has no NUL and is "
                                 "not '_lib', got '"
                              << text << "'";
  }
}

Module NewCustomModule(const String& kind, int property_mask, Any state, const Methods& methods) {
  CheckKind(kind);
  return Module(
      make_object<CustomModuleObj>(std::string(kind), property_mask, std::move(state), methods));
}

// Returns the state value of a custom module; None if the module is not a custom module.
Any StateOf(const Module& module) {
  CustomModuleObj* custom = ModuleClass<CustomModuleObj>::From(module);
  return custom == nullptr ? Any() : custom->state();
}

}  // namespace

void RegisterCustomModule() {
  reflection::GlobalDef()
      .def("pytvmffi.ModuleFromMethods", &NewCustomModule)
      .def("pytvmffi.ModuleState", &StateOf);
}

}  // namespace tvm::ffi::extra
