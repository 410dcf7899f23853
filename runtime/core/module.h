// SPDX-License-Identifier: Apache-2.0
// Modules: named functions from one source, and other modules that they import.
//
// Binary contract: the object starts with a vtable pointer, its header (and so its handle) is 8
// bytes further, and libraries built from other headers call the virtual functions by position and
// derive from this class.  Parameters and results have the layout of the C++ API's classes: a
// String, Bytes or Optional<String> is a Value, an Optional<Function> a nullable reference.
#ifndef TVM_FFI_RUNTIME_CORE_MODULE_H_
#define TVM_FFI_RUNTIME_CORE_MODULE_H_

#include <tvm/ffi/c_api.h>

#include <string>
#include <string_view>

#include "array.h"
#include "function.h"
#include "object.h"
#include "value.h"

namespace tvm::ffi::runtime {

enum ModulePropertyMask : int {
  kModuleBinarySerializable = 1,
  kModuleRunnable = 2,
  kModuleCompilationExportable = 4,
};

class ModuleObject;
using ModuleRef = Ref<ModuleObject>;

class ModuleObject : public TVMFFIObject {
 public:
  // ORDER module-vtable.  No virtual destructor: an object dies through its header's deleter.
  virtual const char* kind() const = 0;
  virtual int GetPropertyMask() const;
  virtual Ref<FunctionObject> GetFunction(const Value& name) = 0;
  virtual bool ImplementsFunction(const Value& name);
  virtual Value GetFunctionDoc(const Value& name);
  virtual Value GetFunctionMetadata(const Value& name);
  virtual void WriteToFile(const Value& path, const Value& format) const;
  virtual Ref<ArrayObject> GetWriteFormats() const;
  virtual Value SaveToBytes() const;
  virtual Value InspectSource(const Value& format) const;
  virtual void ImportModule(const ModuleRef& other);
  virtual void ClearImports();

  // The module's own function, else the first one that its imports have, depth first.
  Ref<FunctionObject> GetFunction(const Value& name, bool query_imports);
  bool ImplementsFunction(const Value& name, bool query_imports);
  Value GetFunctionDoc(const Value& name, bool query_imports);
  Value GetFunctionMetadata(const Value& name, bool query_imports);

 protected:
  ModuleObject() : imports_(NewArray({})) {}
  ~ModuleObject() = default;

  Ref<FunctionObject> GetFunctionFromImports(const Value& name);

 private:
  template <typename Answer>
  auto SearchImports(Answer&& answer) -> decltype(answer(this));

  Ref<ArrayObject> imports_;
  Ref<TVMFFIObject> import_lookup_cache_;  // a Map in modules made by clients
};

// A module made from a file by the loader that is registered for its extension.
ModuleRef LoadModule(std::string_view path);

// Raises TypeError unless the handle is a module.
ModuleRef ModuleFromHandle(TVMFFIObjectHandle handle);

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_MODULE_H_
