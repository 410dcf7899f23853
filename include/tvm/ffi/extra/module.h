// SPDX-License-Identifier: Apache-2.0
// Module: named functions from one source, and other modules that it imports.
//
// ModuleObj is binary contract beyond its layout: libraries derive from it, add data members behind
// byte 48, and call and override its virtual functions by position.  The vtable and the type info
// are emitted in libtvm_ffi alone, because ImportModule is defined there.
#ifndef TVM_FFI_EXTRA_MODULE_H_
#define TVM_FFI_EXTRA_MODULE_H_

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/extra/base.h>
#include <tvm/ffi/function.h>

namespace tvm {
namespace ffi {

class Module;

namespace detail {

[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowModuleLacks(const char* kind, const char* ability) {
  TVM_FFI_THROW(RuntimeError) << "Module[" << kind << "] does not support " << ability;
  TVM_FFI_UNREACHABLE();
}

}  // namespace detail

// Base class of kinds of modules; a client derives from it.
class TVM_FFI_EXTRA_CXX_API ModuleObj : public Object {
 public:
  // ORDER module-vtable.  No virtual destructor: an object dies through its header's deleter.

  // Short name of the kind of module; a literal.
  virtual const char* kind() const = 0;
  // Bits of Module::ModulePropertyMask.
  virtual int GetPropertyMask() const { return 0; }
  // The function of this name; it must keep alive what it needs of the module.
  virtual Optional<Function> GetFunction(const String& name) = 0;
  virtual bool ImplementsFunction(const String& name) { return GetFunction(name).has_value(); }
  virtual Optional<String> GetFunctionDoc(const String& /*name*/) { return std::nullopt; }
  // JSON text.
  virtual Optional<String> GetFunctionMetadata(const String& /*name*/) { return std::nullopt; }
  virtual void WriteToFile(const String& /*file_name*/, const String& /*format*/) const {
    detail::ThrowModuleLacks(kind(), "WriteToFile");
  }
  // The formats that WriteToFile accepts.
  virtual Array<String> GetWriteFormats() const { return Array<String>(); }
  // What the global function ffi.Module.load_from_bytes.KIND makes an equal module from.
  virtual Bytes SaveToBytes() const { detail::ThrowModuleLacks(kind(), "SaveToBytes"); }
  // Text of the source in this format, "" for the module's own; empty when there is none.
  virtual String InspectSource(const String& /*format*/) const { return String(); }
  // RuntimeError when the other module imports this one, directly or not.
  virtual void ImportModule(const Module& other);
  virtual void ClearImports();

  // What the module itself answers, else, with query_imports, the first answer of its imports,
  // depth first.
  Optional<Function> GetFunction(const String& name, bool query_imports);
  bool ImplementsFunction(const String& name, bool query_imports);
  Optional<String> GetFunctionDoc(const String& name, bool query_imports);
  Optional<String> GetFunctionMetadata(const String& name, bool query_imports);

  // Modules, in the order of their import.  Threads: not while another one imports; the field
  // "imports_" may be read at any time.
  const Array<Any>& imports() const { return imports_; }

  // What libtvm_ffi itself does with modules.
  struct InternalUnsafe;

  static constexpr int32_t _type_index = kTVMFFIModule;
  static constexpr bool _type_mutable = true;
  // Derived classes have no type index of their own: their objects are ffi.Module as well.
  static constexpr bool _type_final = true;
  TVM_FFI_DECLARE_OBJECT_INFO_STATIC(StaticTypeKey::kTVMFFIModule, ModuleObj, Object)

 protected:
  ~ModuleObj() = default;

  Array<Any> imports_;

 private:
  // What TVMFFIEnvModLookupFromImports lent to generated code.
  Map<String, Function> import_lookup_cache_;
};

static_assert(sizeof(ModuleObj) == 48, "vptr 8, header 24, imports 8, lookup cache 8");

// Reference to a module: functions by name, and the modules that it imports.
class Module : public ObjectRef {
 public:
  enum ModulePropertyMask : int {
    kBinarySerializable = 1,     // SaveToBytes works
    kRunnable = 2,               // has functions to call
    kCompilationExportable = 4,  // WriteToFile makes an object file or source
  };

  explicit Module(const ObjectPtr<ModuleObj>& object) : ObjectRef(object) {
    if (object == nullptr) detail::ThrowNullReference(ModuleObj::_type_key);
  }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Module, ObjectRef, ModuleObj);

  // The module that ffi.Module.load_from_file.EXT makes of the file; EXT is the file's extension.
  TVM_FFI_EXTRA_CXX_API static Module LoadFromFile(const String& file_name);
  // Calls back with each symbol that libraries receive when they are loaded: name and address, in
  // the order of registration.
  TVM_FFI_EXTRA_CXX_API static void VisitContextSymbols(
      const TypedFunction<void(String, void*)>& callback);
};

// Names of symbols that libraries export.
namespace symbol {

inline constexpr const char* tvm_ffi_symbol_prefix = "__tvm_ffi_";
inline constexpr const char* tvm_ffi_main = "__tvm_ffi_main";
// A slot for the address of the library's ModuleObj.
inline constexpr const char* tvm_ffi_library_ctx = "__tvm_ffi__library_ctx";
// Serialized modules that the library imports.
inline constexpr const char* tvm_ffi_library_bin = "__tvm_ffi__library_bin";
inline constexpr const char* tvm_ffi_metadata_prefix = "__tvm_ffi__metadata_";
inline constexpr const char* tvm_ffi_doc_prefix = "__tvm_ffi__doc_";

}  // namespace symbol
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_MODULE_H_
