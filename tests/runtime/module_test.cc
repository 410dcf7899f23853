// SPDX-License-Identifier: Apache-2.0
// Modules of shared libraries, built from kernel_library.c and similar sources: loading, look-up,
// imports, and the lifetime of mapped libraries.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "child_process.h"
#include "raised.h"
#include "threads.h"
#include "values.h"

namespace {

int context_target = 0;

// An owned module.
TVMFFIObjectHandle Load(const std::string& path) {
  TVMFFIAny module;
  CHECK_EQ(CallGlobal("ffi.ModuleLoadFromFile", {RawStr(path.c_str())}, &module), 0);
  CHECK_EQ(module.type_index, 73);
  return module.v_obj;
}

int LoadFails(const std::string& path) {
  TVMFFIAny module;
  return CallGlobal("ffi.ModuleLoadFromFile", {RawStr(path.c_str())}, &module);
}

// Returns an owned Function or None.
TVMFFIAny Lookup(TVMFFIObjectHandle module, const char* name, bool query_imports = false) {
  TVMFFIAny found;
  CHECK_EQ(CallGlobal("ffi.ModuleGetFunction", {ViewOf(module), RawStr(name), Bool(query_imports)},
                      &found),
           0);
  return found;
}

TVMFFIAny CallMember(TVMFFIObjectHandle module, const char* name, std::vector<TVMFFIAny> args = {},
                     bool query_imports = false) {
  TVMFFIAny function = Lookup(module, name, query_imports), result = None();
  CHECK_EQ(function.type_index, 68);
  CHECK_EQ(
      TVMFFIFunctionCall(function.v_obj, args.data(), static_cast<int32_t>(args.size()), &result),
      0);
  Release(function);
  return result;
}

TVMFFIAny Ask(const char* global, std::vector<TVMFFIAny> args) {
  TVMFFIAny answer;
  CHECK_EQ(CallGlobal(global, std::move(args), &answer), 0);
  return answer;
}

int Import(TVMFFIObjectHandle importer, TVMFFIObjectHandle imported) {
  TVMFFIAny none;
  return CallGlobal("ffi.ModuleImportModule", {ViewOf(importer), ViewOf(imported)}, &none);
}

// Returns the address of the C++ object, 8 bytes before the handle.
void* ObjectOf(TVMFFIObjectHandle module) { return static_cast<char*>(module) - 8; }

struct TemporaryFile {
  std::string path;

  TemporaryFile(const std::string& suffix, const std::string& content) {
    std::string pattern = "/tmp/tvm_ffi_module_test_XXXXXX" + suffix;
    int file = mkstemps(pattern.data(), static_cast<int>(suffix.size()));
    CHECK(file >= 0);
    close(file);
    path = pattern;
    std::ofstream(path) << content;
  }
  ~TemporaryFile() { unlink(path.c_str()); }
};

}  // namespace

TEST_CASE("a loaded module reports its kind and properties") {
  TVMFFIObjectHandle module = Load(KERNEL_LIBRARY);
  CHECK_EQ(StrongCount(module), 1u);
  CHECK_EQ(TakeText(Ask("ffi.ModuleGetKind", {ViewOf(module)})), "library");
  CHECK(SameBytes(Ask("ffi.ModuleGetPropertyMask", {ViewOf(module)}), Int(3)));
  TVMFFIAny formats = Ask("ffi.ModuleGetWriteFormats", {ViewOf(module)});
  CHECK_EQ(formats.type_index, 71);
  CHECK_EQ(reinterpret_cast<TVMFFISeqCell*>(formats.v_obj + 1)->size, 0);
  Release(formats);
  CHECK_EQ(TakeText(Ask("ffi.ModuleInspectSource", {ViewOf(module), RawStr("c")})), "");
  TVMFFIAny none;
  CHECK_RAISES(CallGlobal("ffi.ModuleWriteToFile",
                          {ViewOf(module), RawStr("/nonexistent/x"), RawStr("so")}, &none),
               "RuntimeError", "does not support WriteToFile");
  TVMFFIObjectDecRef(module);
}

TEST_CASE("functions of the library are found by name") {
  TVMFFIObjectHandle module = Load(KERNEL_LIBRARY);
  CHECK(SameBytes(CallMember(module, "add", {Int(40), Int(2)}), Int(42)));
  CHECK(SameBytes(CallMember(module, "handle_is_null"), Int(1)));
  CHECK(SameBytes(Lookup(module, "missing"), None()));
  for (const char* name : {"add", "missing"}) {
    TVMFFIAny implements =
        Ask("ffi.ModuleImplementsFunction", {ViewOf(module), RawStr(name), Bool(false)});
    CHECK(SameBytes(implements, Bool(std::string(name) == "add")));
  }
  TVMFFIObjectDecRef(module);
}

TEST_CASE("an error of a kernel reaches the caller") {
  TVMFFIObjectHandle module = Load(KERNEL_LIBRARY);
  TVMFFIAny function = Lookup(module, "fail"), result = None();
  CHECK_RAISES(TVMFFIFunctionCall(function.v_obj, nullptr, 0, &result), "ValueError",
               "the kernel refuses");
  Release(function);
  TVMFFIObjectDecRef(module);
}

TEST_CASE("doc and metadata come from their symbols") {
  TVMFFIObjectHandle module = Load(KERNEL_LIBRARY);
  auto ask = [&](const char* global, const char* name) {
    return Ask(global, {ViewOf(module), RawStr(name), Bool(false)});
  };
  CHECK_EQ(TakeText(ask("ffi.ModuleGetFunctionDoc", "add")), "Adds two integers.");
  CHECK_EQ(TakeText(ask("ffi.ModuleGetFunctionMetadata", "add")), "{\"type_schema\":\"{}\"}");
  CHECK(SameBytes(ask("ffi.ModuleGetFunctionDoc", "handle_is_null"), None()));
  CHECK(SameBytes(ask("ffi.ModuleGetFunctionMetadata", "missing"), None()));
  TVMFFIAny doc;
  CHECK_RAISES(
      CallGlobal("ffi.ModuleGetFunctionDoc", {ViewOf(module), RawStr("fail"), Bool(false)}, &doc),
      "ValueError", "the kernel refuses");
  TVMFFIObjectDecRef(module);
}

TEST_CASE("a function keeps its module alive") {
  TVMFFIObjectHandle module = Load(KERNEL_LIBRARY);
  TVMFFIAny function = Lookup(module, "add");
  CHECK_EQ(StrongCount(module), 2u);
  TVMFFIObjectDecRef(module);
  TVMFFIAny args[] = {Int(1), Int(2)}, result = None();
  CHECK_EQ(TVMFFIFunctionCall(function.v_obj, args, 2, &result), 0);
  CHECK(SameBytes(result, Int(3)));
  CHECK_EQ(StrongCount(module), 1u);  // only the function keeps the module alive
  Release(function);
}

TEST_CASE("the library context is the module object that precedes its handle") {
  TVMFFIObjectHandle module = Load(KERNEL_LIBRARY);
  CHECK(SameBytes(CallMember(module, "library_context"),
                  Pointer(kTVMFFIOpaquePtr, ObjectOf(module))));
  TVMFFIObjectHandle again = Load(KERNEL_LIBRARY);
  CHECK(again != module);
  CHECK(
      SameBytes(CallMember(module, "library_context"), Pointer(kTVMFFIOpaquePtr, ObjectOf(again))));
  TVMFFIObjectDecRef(module);
  CHECK(
      SameBytes(CallMember(again, "library_context"), Pointer(kTVMFFIOpaquePtr, ObjectOf(again))));
  TVMFFIObjectDecRef(again);
}

TEST_CASE("context symbols reach libraries that are loaded afterwards") {
  TVMFFIObjectHandle before = Load(KERNEL_LIBRARY);
  CHECK(SameBytes(CallMember(before, "context_symbol"), Pointer(kTVMFFIOpaquePtr, nullptr)));
  CHECK_EQ(TVMFFIEnvModRegisterContextSymbol("__test_context_symbol", &context_target), 0);
  CHECK_EQ(TVMFFIEnvModRegisterContextSymbol("__test_absent_symbol", &context_target), 0);
  TVMFFIObjectHandle after = Load(KERNEL_LIBRARY);
  CHECK(SameBytes(CallMember(after, "context_symbol"), Pointer(kTVMFFIOpaquePtr, &context_target)));
  CHECK(SameBytes(CallMember(after, "unregistered_symbol"), Pointer(kTVMFFIOpaquePtr, nullptr)));
  TVMFFIObjectDecRef(before);
  TVMFFIObjectDecRef(after);
}

TEST_CASE("imports provide functions that the module itself lacks") {
  TVMFFIObjectHandle module = Load(KERNEL_LIBRARY), imported = Load(IMPORT_LIBRARY);
  CHECK(SameBytes(Lookup(module, "imported", true), None()));
  CHECK_EQ(Import(module, imported), 0);
  CHECK_EQ(StrongCount(imported), 2u);
  CHECK(SameBytes(Lookup(module, "imported", false), None()));
  CHECK(SameBytes(CallMember(module, "imported", {}, true), Int(77)));
  CHECK(SameBytes(CallMember(module, "add", {Int(1), Int(2)}, true), Int(3)));
  CHECK(SameBytes(
      Ask("ffi.ModuleImplementsFunction", {ViewOf(module), RawStr("imported"), Bool(true)}),
      Bool(true)));
  CHECK(SameBytes(Ask("ffi.ModuleGetFunctionDoc", {ViewOf(module), RawStr("imported"), Bool(true)}),
                  None()));
  CHECK(SameBytes(Ask("ffi.ModuleClearImports", {ViewOf(module)}), None()));
  CHECK_EQ(StrongCount(imported), 1u);
  CHECK(SameBytes(Lookup(module, "imported", true), None()));
  TVMFFIObjectDecRef(module);
  TVMFFIObjectDecRef(imported);
}

TEST_CASE("imports are searched depth first") {
  TVMFFIObjectHandle top = Load(IMPORT_LIBRARY), middle = Load(IMPORT_LIBRARY);
  TVMFFIObjectHandle bottom = Load(KERNEL_LIBRARY);
  CHECK_EQ(Import(middle, bottom), 0);
  CHECK_EQ(Import(top, middle), 0);
  CHECK(SameBytes(CallMember(top, "handle_is_null", {}, true), Int(1)));
  CHECK_EQ(TakeText(Ask("ffi.ModuleGetFunctionDoc", {ViewOf(top), RawStr("add"), Bool(true)})),
           "Adds two integers.");
  TVMFFIObjectDecRef(top);
  TVMFFIObjectDecRef(middle);
  TVMFFIObjectDecRef(bottom);
}

TEST_CASE("cyclic imports are rejected") {
  TVMFFIObjectHandle a = Load(KERNEL_LIBRARY), b = Load(IMPORT_LIBRARY), c = Load(IMPORT_LIBRARY);
  const char* refusal = "a module must not import itself, directly or through other modules";
  CHECK_RAISES(Import(a, a), "RuntimeError", refusal);
  CHECK_EQ(Import(a, b), 0);
  CHECK_EQ(Import(b, c), 0);
  CHECK_RAISES(Import(c, a), "RuntimeError", refusal);
  CHECK_EQ(Import(a, c), 0);  // two import paths to a module are not a cycle
  CHECK_EQ(StrongCount(a), 1u);
  TVMFFIObjectDecRef(a);
  TVMFFIObjectDecRef(b);
  TVMFFIObjectDecRef(c);
}

TEST_CASE("generated code finds imports and then global functions") {
  TVMFFIObjectHandle module = Load(KERNEL_LIBRARY), imported = Load(IMPORT_LIBRARY);
  void* context = ObjectOf(module);
  TVMFFIObjectHandle function = &context;
  CHECK_RAISES(TVMFFIEnvModLookupFromImports(context, "imported", &function), "RuntimeError",
               "Cannot find function imported in the imported modules or global registry.");
  CHECK_EQ(function, static_cast<void*>(&context));
  CHECK_EQ(Import(module, imported), 0);
  CHECK(SameBytes(CallMember(module, "call_import", {RawStr("imported")}), Int(77)));
  CHECK_EQ(TVMFFIEnvModLookupFromImports(context, "imported", &function), 0);
  TVMFFIObjectHandle cached = nullptr;
  CHECK_EQ(TVMFFIEnvModLookupFromImports(context, "imported", &cached), 0);
  CHECK_EQ(cached, function);
  CHECK_EQ(StrongCount(function), 1u);  // borrowed from the cache of the module
  TVMFFIObjectHandle global = GetGlobal("ffi.GetInvalidObject");
  CHECK_EQ(TVMFFIEnvModLookupFromImports(context, "ffi.GetInvalidObject", &cached), 0);
  CHECK_EQ(cached, global);
  TVMFFIObjectDecRef(global);
  // This look-up searches only the imports, not the library's own functions.
  CHECK_RAISES(TVMFFIEnvModLookupFromImports(context, "count_deletions", &function), "RuntimeError",
               "count_deletions");
  CHECK_RAISES(TVMFFIEnvModLookupFromImports(nullptr, "imported", &function), "RuntimeError",
               "library context is NULL");
  TVMFFIObjectDecRef(module);
  TVMFFIObjectDecRef(imported);
}

TEST_CASE("threads find the same imported function") {
  TVMFFIObjectHandle module = Load(KERNEL_LIBRARY), imported = Load(IMPORT_LIBRARY);
  CHECK_EQ(Import(module, imported), 0);
  TVMFFIObjectHandle found[8] = {};
  RunTogether(8, [&](int i) {
    CHECK_EQ(TVMFFIEnvModLookupFromImports(ObjectOf(module), "imported", &found[i]), 0);
  });
  for (TVMFFIObjectHandle function : found) CHECK_EQ(function, found[0]);
  TVMFFIObjectDecRef(module);
  TVMFFIObjectDecRef(imported);
}

TEST_CASE("a result outlives module and function and its library stays mapped") {
  TVMFFIObjectHandle module = Load(KERNEL_LIBRARY);
  TVMFFIAny before = CallMember(module, "count_deletions");
  TVMFFIAny object = CallMember(module, "new_object");
  TVMFFIObjectDecRef(module);
  void* still_loaded = dlopen(KERNEL_LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
  CHECK(still_loaded != nullptr);
  dlclose(still_loaded);
  Release(object);  // the call runs code of the library
  module = Load(KERNEL_LIBRARY);
  CHECK(SameBytes(CallMember(module, "count_deletions"), Int(before.v_int64 + 1)));
  TVMFFIObjectDecRef(module);
}

TEST_CASE("a pinned module stays until unpinned") {
  TVMFFIObjectHandle module = Load(KERNEL_LIBRARY);
  for (int i = 0; i < 2; ++i) Ask("ffi.ModuleGlobalsAdd", {ViewOf(module)});
  CHECK_EQ(StrongCount(module), 2u);
  for (int i = 0; i < 2; ++i) Ask("ffi.ModuleGlobalsRemove", {ViewOf(module)});
  CHECK_EQ(StrongCount(module), 1u);
  TVMFFIObjectDecRef(module);
}

TEST_CASE("a missing file is an error of its own kind with the path") {
  CHECK_RAISES(LoadFails("/nonexistent/kernel.so"), "FileNotFoundError",
               "Failed to load dynamic shared library /nonexistent/kernel.so");
}

TEST_CASE("a file that is not a library is an internal error") {
  TemporaryFile file(".so", "this is text");
  CHECK_RAISES(LoadFails(file.path), "InternalError", "Failed to load dynamic shared library");
  TemporaryFile dylib(".dylib", "this is text");  // the same loader as before
  CHECK_RAISES(LoadFails(dylib.path), "InternalError", "Failed to load dynamic shared library");
}

TEST_CASE("a path without an extension is a runtime error") {
  CHECK_RAISES(LoadFails("kernel"), "RuntimeError",
               "Failed to load kernel: expected a file name with an extension");
  CHECK_RAISES(LoadFails("/dir.d/kernel"), "RuntimeError",
               "Failed to load /dir.d/kernel: expected a file name with an extension");
  CHECK_RAISES(LoadFails(""), "RuntimeError",
               "Failed to load : expected a file name with an extension");
}

TEST_CASE("an unknown extension names the missing loader") {
  CHECK_RAISES(LoadFails("kernel.xyz"), "RuntimeError",
               "Loader for `.xyz` files is not registered");
}

TEST_CASE("the loader of an extension is a global function") {
  auto loader = [](void*, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
    CHECK_EQ(num_args, 2);
    CHECK_EQ(TextOf(args[0]), "a.tst");
    CHECK_EQ(TextOf(args[1]), "tst");
    *result = Int(3);  // the loader's result is not a module
    return 0;
  };
  TVMFFIByteArray name = Bytes("ffi.Module.load_from_file.tst");
  TVMFFIObjectHandle function = nullptr;
  CHECK_EQ(TVMFFIFunctionCreate(nullptr, loader, nullptr, &function), 0);
  CHECK_EQ(TVMFFIFunctionSetGlobal(&name, function, 0), 0);
  CHECK_RAISES(LoadFails("a.tst"), "TypeError", "must return `ffi.Module`, got `int`");
  TVMFFIObjectDecRef(function);
}

TEST_CASE("a system symbol may be replaced with a warning") {
  ChildEnd end = RunInChild([] {
    static int first, second;
    CHECK_EQ(TVMFFIEnvModRegisterSystemLibSymbol("__tvm_ffi_test", &first), 0);
    CHECK_EQ(TVMFFIEnvModRegisterSystemLibSymbol("__tvm_ffi_test", &first), 0);  // no change
    std::fputs("|", stderr);
    CHECK_EQ(TVMFFIEnvModRegisterSystemLibSymbol("__tvm_ffi_test", &second), 0);
  });
  CHECK_EQ(end.exit_status, 0);
  CHECK_EQ(end.stderr_text.substr(0, 9), "|warning:");
  CHECK(end.stderr_text.find("`__tvm_ffi_test`") != std::string::npos);
}
