// SPDX-License-Identifier: Apache-2.0
// Modules across the binary boundary: libraries with other headers call the runtime's modules, and
// the runtime calls theirs, by the vtable position of a function.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "raised.h"
#include "values.h"

namespace {

// Returned like any non-trivial C++ class: through a hidden pointer, because the class has a
// destructor.
struct OwnedReference {
  TVMFFIObject* object;
  ~OwnedReference() { TVMFFIObjectDecRef(object); }
};
struct OwnedAny {
  TVMFFIAny any;
  ~OwnedAny() { Release(any); }
};

// A module object of a client: vtable pointer, header, imports, lookup cache. It has 48 bytes.
class ClientModule {
 public:
  virtual const char* kind() const { return "client"; }
  virtual int GetPropertyMask() const { return 6; }
  virtual OwnedReference GetFunction(const TVMFFIAny& name) {
    if (TextOf(name) != "seven") return {nullptr};
    TVMFFIObjectHandle function = nullptr;
    CHECK_EQ(TVMFFIFunctionCreate(nullptr, &Seven, nullptr, &function), 0);
    return {static_cast<TVMFFIObject*>(function)};
  }
  virtual bool ImplementsFunction(const TVMFFIAny& name) { return TextOf(name) == "promised"; }
  virtual OwnedAny GetFunctionDoc(const TVMFFIAny& name) { return NewText("doc of ", name); }
  virtual OwnedAny GetFunctionMetadata(const TVMFFIAny& name) { return NewText("{} of ", name); }
  virtual void WriteToFile(const TVMFFIAny& path, const TVMFFIAny& format) const {
    written = TextOf(path) + "|" + TextOf(format);
  }
  virtual OwnedReference GetWriteFormats() const {
    TVMFFIObjectIncRef(imports);  // any array works
    return {imports};
  }
  virtual OwnedAny SaveToBytes() const { return {None()}; }
  virtual OwnedAny InspectSource(const TVMFFIAny& format) const {
    return NewText("source as ", format);
  }
  // A reference is one pointer, which contains the address of its object's header.
  virtual void ImportModule(TVMFFIObject* const& other) { last_import = other; }
  virtual void ClearImports() { last_import = nullptr; }

  TVMFFIObject header;
  TVMFFIObject* imports = nullptr;
  TVMFFIObject* lookup_cache = nullptr;

  static std::string written;
  static TVMFFIObject* last_import;

 private:
  static OwnedAny NewText(const char* prefix, const TVMFFIAny& text) {
    std::string joined = prefix + TextOf(text);
    TVMFFIByteArray bytes = Bytes(joined);
    TVMFFIAny result;
    CHECK_EQ(TVMFFIStringFromByteArray(&bytes, &result), 0);
    return {result};
  }
  static int Seven(void*, const TVMFFIAny*, int32_t, TVMFFIAny* result) {
    *result = Int(7);
    return 0;
  }

 protected:
  ~ClientModule() = default;
};
std::string ClientModule::written;
TVMFFIObject* ClientModule::last_import;

static_assert(sizeof(ClientModule) == 48, "layout of the contract, section 8");

// An Array object as C++ headers make it, without elements.
struct EmptyArray {
  TVMFFIObject header;
  TVMFFISeqCell cell;

  EmptyArray() : header{}, cell{} {
    header.combined_ref_count = TVM_FFI_REF_COUNT_INITIAL;
    header.type_index = kTVMFFIArray;
    cell.data = this + 1;
  }
};

// A module on the stack with a reference count that tests read.
struct ClientModuleOnStack final : ClientModule {
  EmptyArray no_imports;

  ClientModuleOnStack() {
    header = {};
    header.combined_ref_count = TVM_FFI_REF_COUNT_INITIAL;
    header.type_index = kTVMFFIModule;
    imports = &no_imports.header;
  }
  TVMFFIAny View() { return ViewOf(&header); }
};

TVMFFIAny Ask(const char* global, std::vector<TVMFFIAny> args) {
  TVMFFIAny answer;
  CHECK_EQ(CallGlobal(global, std::move(args), &answer), 0);
  return answer;
}

TVMFFIAny LoadKernelLibrary() { return Ask("ffi.ModuleLoadFromFile", {RawStr(KERNEL_LIBRARY)}); }

// Calls the virtual function at `byte_offset` of the class's vtable symbol; the first two entries
// of the symbol precede the address in the object's vptr.
template <typename Result, typename... Args>
Result CallSlot(TVMFFIObjectHandle module, size_t byte_offset, Args... args) {
  char* object = static_cast<char*>(module) - 8;
  void** vtable = *reinterpret_cast<void***>(object);
  auto* function = reinterpret_cast<Result (*)(void*, Args...)>(vtable[(byte_offset - 16) / 8]);
  return function(object, args...);
}

TVMFFIAny SmallText(const char* text) {
  TVMFFIByteArray bytes = Bytes(text);
  TVMFFIAny any;
  CHECK_EQ(TVMFFIStringFromByteArray(&bytes, &any), 0);
  CHECK_EQ(any.type_index, 11);  // there is nothing to release
  return any;
}

}  // namespace

TEST_CASE("a runtime module is called through its vtable") {
  TVMFFIAny module = LoadKernelLibrary();
  TVMFFIObjectHandle handle = module.v_obj;
  TVMFFIAny add = SmallText("add"), missing = SmallText("missing");
  const TVMFFIAny *add_name = &add, *missing_name = &missing;
  CHECK_EQ(std::string(CallSlot<const char*>(handle, 16)), "library");
  CHECK_EQ(CallSlot<int>(handle, 24), 3);
  {
    auto function = CallSlot<OwnedReference>(handle, 32, add_name);
    TVMFFIAny args[] = {Int(2), Int(3)}, sum = None();
    CHECK_EQ(TVMFFIFunctionCall(function.object, args, 2, &sum), 0);
    CHECK(SameBytes(sum, Int(5)));
    CHECK_EQ(StrongCount(handle), 2u);
  }
  CHECK(CallSlot<OwnedReference>(handle, 32, missing_name).object == nullptr);
  CHECK(CallSlot<bool>(handle, 40, add_name));
  CHECK(!CallSlot<bool>(handle, 40, missing_name));
  CHECK_EQ(TextOf(CallSlot<OwnedAny>(handle, 48, add_name).any), "Adds two integers.");
  CHECK(SameBytes(CallSlot<OwnedAny>(handle, 56, missing_name).any, None()));
  CHECK_EQ(CallSlot<OwnedReference>(handle, 72).object->type_index, 71);
  CHECK(SameBytes(CallSlot<OwnedAny>(handle, 88, add_name).any, PlainAny(11, 0)));
  CHECK_EQ(StrongCount(handle), 1u);
  Release(module);
}

TEST_CASE("a runtime module imports and clears imports through its vtable") {
  TVMFFIAny module = LoadKernelLibrary();
  ClientModuleOnStack client;
  TVMFFIObject* client_reference = &client.header;
  TVMFFIObject* const* argument = &client_reference;  // the address of a const Module&
  CallSlot<void>(module.v_obj, 96, argument);
  CHECK_EQ(StrongCount(client_reference), 2u);
  TVMFFIAny function = Ask("ffi.ModuleGetFunction", {module, RawStr("seven"), Bool(true)}),
            result = None();
  CHECK_EQ(TVMFFIFunctionCall(function.v_obj, nullptr, 0, &result), 0);
  CHECK(SameBytes(result, Int(7)));
  Release(function);
  CallSlot<void>(module.v_obj, 104);
  CHECK_EQ(StrongCount(client_reference), 1u);
  Release(module);
}

TEST_CASE("a client module is called through its vtable") {
  ClientModuleOnStack client;
  TVMFFIAny module = client.View();
  CHECK_EQ(TakeText(Ask("ffi.ModuleGetKind", {module})), "client");
  CHECK(SameBytes(Ask("ffi.ModuleGetPropertyMask", {module}), Int(6)));
  TVMFFIAny function = Ask("ffi.ModuleGetFunction", {module, RawStr("seven"), Bool(true)});
  CHECK_EQ(function.type_index, 68);
  CHECK_EQ(StrongCount(function.v_obj), 1u);
  Release(function);
  CHECK(SameBytes(Ask("ffi.ModuleGetFunction", {module, RawStr("eight"), Bool(true)}), None()));
  CHECK(SameBytes(Ask("ffi.ModuleImplementsFunction", {module, RawStr("promised"), Bool(false)}),
                  Bool(true)));
  CHECK(SameBytes(Ask("ffi.ModuleImplementsFunction", {module, RawStr("seven"), Bool(true)}),
                  Bool(false)));
  CHECK_EQ(TakeText(Ask("ffi.ModuleGetFunctionDoc", {module, RawStr("f"), Bool(false)})),
           "doc of f");
  CHECK_EQ(TakeText(Ask("ffi.ModuleGetFunctionMetadata", {module, RawStr("f"), Bool(false)})),
           "{} of f");
  CHECK_EQ(TakeText(Ask("ffi.ModuleInspectSource", {module, RawStr("cuda")})), "source as cuda");
  Ask("ffi.ModuleWriteToFile", {module, RawStr("a/b"), RawStr("obj")});
  CHECK_EQ(ClientModule::written, "a/b|obj");
  TVMFFIAny formats = Ask("ffi.ModuleGetWriteFormats", {module});
  CHECK_EQ(formats.v_obj, &client.no_imports.header);
  Release(formats);
  CHECK_EQ(StrongCount(&client.header), 1u);
  CHECK_EQ(StrongCount(&client.no_imports.header), 1u);
}

TEST_CASE("a client module imports and clears imports through its vtable") {
  ClientModuleOnStack importer, imported;
  Ask("ffi.ModuleImportModule", {importer.View(), imported.View()});
  CHECK_EQ(ClientModule::last_import, &imported.header);
  Ask("ffi.ModuleClearImports", {importer.View()});
  CHECK(ClientModule::last_import == nullptr);
  CHECK_EQ(StrongCount(&imported.header), 1u);
}
