// SPDX-License-Identifier: Apache-2.0
// Module: a set of named functions, such as those of a library, and of imported modules.
//
// Not only the layout of ModuleObj is part of the binary contract, but also the order of its
// virtual functions: libraries derive from it, add data members after byte 48, and call and
// override virtual functions by position.  Only libtvm_ffi contains the vtable and the type info,
// because it defines ImportModule, the key function.
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

// Base class of all modules; libraries derive their module classes from it.
class TVM_FFI_EXTRA_CXX_API ModuleObj : public Object {
 public:
  // ORDER module-vtable.  No virtual destructor: the deleter in the object header destroys the
  // object.

  // Returns a short name of the module's kind, as a string literal.
  virtual const char* kind() const = 0;
  // Returns the properties of the module: a combination of bits of Module::ModulePropertyMask.
  virtual int GetPropertyMask() const { return 0; }
  // Returns the function of this name; std::nullopt if the module has none.  The function must own
  // references to everything in the module that it uses.
  virtual Optional<Function> GetFunction(const String& name) = 0;
  virtual bool ImplementsFunction(const String& name) { return GetFunction(name).has_value(); }
  virtual Optional<String> GetFunctionDoc(const String& /*name*/) { return std::nullopt; }
  // Returns the metadata of a function as JSON text.
  virtual Optional<String> GetFunctionMetadata(const String& /*name*/) { return std::nullopt; }
  virtual void WriteToFile(const String& /*file_name*/, const String& /*format*/) const {
    detail::ThrowModuleLacks(kind(), "WriteToFile");
  }
  // Returns the formats that WriteToFile accepts.
  virtual Array<String> GetWriteFormats() const { return Array<String>(); }
  // Returns the serialized module, from which the global function ffi.Module.load_from_bytes.KIND
  // creates an equal module.
  virtual Bytes SaveToBytes() const { detail::ThrowModuleLacks(kind(), "SaveToBytes"); }
  // Returns the module's source text in a format; the format "" is the module's default.  Returns
  // an empty string if the module has no source text.
  virtual String InspectSource(const String& /*format*/) const { return String(); }
  // Adds a module to the imports.  Fails: RuntimeError if the other module imports this one,
  // directly or indirectly.
  virtual void ImportModule(const Module& other);
  virtual void ClearImports();

  // Query the module itself.  If the module does not have the function and query_imports is true,
  // query the imports of the module depth first and return the first result.
  Optional<Function> GetFunction(const String& name, bool query_imports);
  bool ImplementsFunction(const String& name, bool query_imports);
  Optional<String> GetFunctionDoc(const String& name, bool query_imports);
  Optional<String> GetFunctionMetadata(const String& name, bool query_imports);

  // Returns the imported modules in the order of import.  Threads: not while another thread calls
  // ImportModule; reading the reflected field "imports_" is always safe.
  const Array<Any>& imports() const { return imports_; }

  // Internal operations on modules, defined in libtvm_ffi.
  struct InternalUnsafe;

  static constexpr int32_t _type_index = kTVMFFIModule;
  static constexpr bool _type_mutable = true;
  // Derived classes are not registered as types: their objects have the type index of ffi.Module.
  static constexpr bool _type_final = true;
  TVM_FFI_DECLARE_OBJECT_INFO_STATIC(StaticTypeKey::kTVMFFIModule, ModuleObj, Object)

 protected:
  ~ModuleObj() = default;

  Array<Any> imports_;

 private:
  // Functions that TVMFFIEnvModLookupFromImports has returned to generated code.  The map owns
  // the functions, because generated code stores only borrowed references.
  Map<String, Function> import_lookup_cache_;
};

static_assert(sizeof(void*) < 8 || sizeof(ModuleObj) == 48,
              "vptr 8, header 24, imports 8, lookup cache 8");

// Reference to a ModuleObj.
class Module : public ObjectRef {
 public:
  enum ModulePropertyMask : int {
    kBinarySerializable = 1,     // SaveToBytes is supported
    kRunnable = 2,               // the module has functions that can be called
    kCompilationExportable = 4,  // WriteToFile writes an object file or source
  };

  explicit Module(const ObjectPtr<ModuleObj>& object) : ObjectRef(object) {
    if (object == nullptr) detail::ThrowNullReference(ModuleObj::_type_key);
  }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Module, ObjectRef, ModuleObj);

  // Loads a module with the global function ffi.Module.load_from_file.EXT, where EXT is the
  // extension of the file name.
  TVM_FFI_EXTRA_CXX_API static Module LoadFromFile(const String& file_name);
  // Calls callback(name, address) for each symbol that the loader stores in libraries, in the order
  // of registration with TVMFFIEnvModRegisterContextSymbol.
  TVM_FFI_EXTRA_CXX_API static void VisitContextSymbols(
      const TypedFunction<void(String, void*)>& callback);
};

// Names and prefixes of symbols that libraries export.
namespace symbol {

inline constexpr const char* tvm_ffi_symbol_prefix = "__tvm_ffi_";
inline constexpr const char* tvm_ffi_main = "__tvm_ffi_main";
// Data slot in which the loader stores the address of the library's ModuleObj.
inline constexpr const char* tvm_ffi_library_ctx = "__tvm_ffi__library_ctx";
// Data symbol with the serialized imports of the library's module.
inline constexpr const char* tvm_ffi_library_bin = "__tvm_ffi__library_bin";
inline constexpr const char* tvm_ffi_metadata_prefix = "__tvm_ffi__metadata_";
inline constexpr const char* tvm_ffi_doc_prefix = "__tvm_ffi__doc_";

}  // namespace symbol
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_MODULE_H_
