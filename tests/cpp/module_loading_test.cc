// SPDX-License-Identifier: Apache-2.0
// Modules from files and their loaders, module classes defined in another library, and look-ups of
// imported functions by generated code.
#include <doctest/doctest.h>
#include <tvm/ffi/cast.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/module.h>

#include <functional>
#include <new>
#include <string>
#include <typeinfo>
#include <vector>

#include "../runtime/raised.h"
#include "../runtime/threads.h"
#include "thrown.h"

#ifndef CLIENT_MODULE_LIBRARY
#define CLIENT_MODULE_LIBRARY "client_module_library.so"  // the build passes the path
#endif

namespace {

using namespace tvm::ffi;

// A module that calls a C++ function for each requested name.
class CallbackModule : public ModuleObj {
 public:
  using Callback = std::function<Optional<Function>(const String&)>;
  explicit CallbackModule(Callback callback) : callback_(std::move(callback)) {}
  const char* kind() const { return "callback"; }
  Optional<Function> GetFunction(const String& name) { return callback_(name); }

 private:
  Callback callback_;
};

Module NewCallback(CallbackModule::Callback callback) {
  return Module(make_object<CallbackModule>(std::move(callback)));
}

// A module with one function, "f".
Module NewAnswer(int64_t number) {
  return NewCallback([number](const String& name) -> Optional<Function> {
    if (name != "f") return std::nullopt;
    return Function::FromTyped([number] { return number; });
  });
}

Module NewEmpty() {
  return NewCallback([](const String&) { return Optional<Function>(); });
}

// Looks up a function as generated code does: the context is the address of the C++ object.
int Lookup(const Module& module, const char* name, TVMFFIObjectHandle* out) {
  return TVMFFIEnvModLookupFromImports(static_cast<ModuleObj*>(module.get()), name, out);
}

int64_t CallBorrowed(TVMFFIObjectHandle function) {
  Any result;
  CHECK_EQ(TVMFFIFunctionCall(function, nullptr, 0, reinterpret_cast<TVMFFIAny*>(&result)), 0);
  return result.cast<int64_t>();
}

int target_a, target_b;

}  // namespace

// ---- Loaders ----------------------------------------------------------------------------------

TEST_CASE("a loader is found by the file extension") {
  std::vector<std::string> seen;
  Function::SetGlobal("ffi.Module.load_from_file.answer",
                      Function::FromTyped([&](String path, String format) {
                        seen = {path, format};
                        return NewAnswer(42);
                      }));
  Module module = Module::LoadFromFile("/some.dir/module.answer");
  CHECK_EQ(seen[0], "/some.dir/module.answer");
  CHECK_EQ(seen[1], "answer");
  CHECK_EQ(module->GetFunction("f").value()().cast<int64_t>(), 42);
  Function::RemoveGlobal("ffi.Module.load_from_file.answer");
}

TEST_CASE("a file without a loader is an error") {
  CHECK_EQ(Thrown([] { Module::LoadFromFile("a.unknown"); }),
           "RuntimeError: Loader for `.unknown` files is not registered, cannot load a.unknown; "
           "register a global function `ffi.Module.load_from_file.unknown`");
  CHECK_EQ(Thrown([] { Module::LoadFromFile("some.dir/module"); }),
           "RuntimeError: Failed to load some.dir/module: expected a file name with an extension");
  std::string missing = Thrown([] { Module::LoadFromFile("/nonexistent/a.dylib"); });
  CHECK_EQ(
      missing,
      "FileNotFoundError: Failed to load dynamic shared library /nonexistent/a.dylib: the file "
      "does not exist");
}

TEST_CASE("a loader that returns no module is an error") {
  Function::SetGlobal("ffi.Module.load_from_file.three",
                      Function::FromTyped([](String, String) { return 3; }));
  CHECK_EQ(Thrown([] { Module::LoadFromFile("a.three"); }),
           "TypeError: the loader `ffi.Module.load_from_file.three` must return "
           "`ffi.Module`, got `int`");
  Function::RemoveGlobal("ffi.Module.load_from_file.three");
}

// ---- A class in another library ---------------------------------------------------------------

TEST_CASE("a module of a third-party class outlives the module that created it") {
  Module library = Module::LoadFromFile(CLIENT_MODULE_LIBRARY);
  Function count_alive = library->GetFunction("count_alive").value();
  std::optional<Module> counter =
      library->GetFunction("make_counter").value()(10, "ten").cast<Module>();
  CHECK_EQ(count_alive().cast<int64_t>(), 1);
  library = NewEmpty();
  CHECK_EQ(std::string((*counter)->kind()), "counter");
  CHECK_EQ((*counter)->GetPropertyMask(), 3);
  CHECK_EQ((*counter)->InspectSource("c"), "ten.c");
  Function next = (*counter)->GetFunction("next", true).value();
  CHECK_EQ(next().cast<int64_t>(), 10);
  CHECK_EQ(next().cast<int64_t>(), 11);
  CHECK_EQ((*counter)->GetFunction("label").value()().cast<String>(), "ten");
  CHECK(!(*counter)->ImplementsFunction("none", true));
  counter.reset();
  CHECK_EQ(next().cast<int64_t>(), 12);
  CHECK_EQ(count_alive().cast<int64_t>(), 1);
  next = nullptr;
  CHECK_EQ(count_alive().cast<int64_t>(), 0);
}

TEST_CASE("third-party modules import each other") {
  Module library = Module::LoadFromFile(CLIENT_MODULE_LIBRARY);
  Function make = library->GetFunction("make_counter").value();
  Module outer = make(0, "outer").cast<Module>(), inner = make(5, "inner").cast<Module>();
  Module own = NewAnswer(7);
  outer->ImportModule(own);
  own->ImportModule(inner);
  CHECK_EQ(outer->GetFunction("f", true).value()().cast<int64_t>(), 7);
  CHECK_EQ(Thrown([&] { inner->ImportModule(outer); }),
           "RuntimeError: a module must not import itself, directly or through other modules");
  CHECK_EQ(outer->GetFunction("next", true).value()().cast<int64_t>(), 0);
  CHECK_EQ(own->GetFunction("next", true).value()().cast<int64_t>(), 5);
  CHECK_EQ(inner.use_count(), 2);
  own->ClearImports();
  CHECK_EQ(inner.use_count(), 1);
}

TEST_CASE("errors and type information cross libraries") {
  Module library = Module::LoadFromFile(CLIENT_MODULE_LIBRARY);
  Module counter = library->GetFunction("make_counter").value()(1, "one").cast<Module>();
  CHECK_EQ(Thrown([&] { counter->GetFunction("refuse", true); }),
           "ValueError: the counter one refuses");
  CHECK_EQ(Thrown([&] { counter->WriteToFile("counter.o", "o"); }),
           "RuntimeError: Module[counter] does not support WriteToFile");
  CHECK(counter->SaveToBytes() == "one");
  Function is_counter = library->GetFunction("is_counter").value();
  CHECK(is_counter(counter).cast<bool>());
  CHECK(!is_counter(library).cast<bool>());
  // Both libraries share one type information: only libtvm_ffi defines it.
  void* theirs = library->GetFunction("type_info_of_modules").value()().cast<void*>();
  CHECK_EQ(theirs, static_cast<const void*>(&typeid(ModuleObj)));
}

// ---- Generated code ---------------------------------------------------------------------------

TEST_CASE("generated code finds functions through modules of any class") {
  Module module = NewEmpty(), middle = NewEmpty();
  module->ImportModule(middle);
  middle->ImportModule(NewAnswer(3));
  TVMFFIObjectHandle function = nullptr, again = nullptr;
  CHECK_EQ(Lookup(module, "f", &function), 0);
  CHECK_EQ(CallBorrowed(function), 3);
  CHECK_EQ(Lookup(module, "f", &again), 0);
  CHECK_EQ(again, function);
  // The module's own functions are not found by a look-up in its imports.
  CHECK_RAISES(Lookup(NewAnswer(1), "f", &function), "RuntimeError",
               "Cannot find function f in the imported modules or global registry.");
  CHECK_EQ(function, again);
}

TEST_CASE("a borrowed function lives as long as its module") {
  Module module = NewEmpty();
  module->ImportModule(NewAnswer(3));
  TVMFFIObjectHandle function = nullptr, again = nullptr;
  CHECK_EQ(Lookup(module, "f", &function), 0);
  module->ClearImports();
  module->ImportModule(NewAnswer(4));
  CHECK_EQ(CallBorrowed(function), 3);
  CHECK_EQ(Lookup(module, "f", &again), 0);
  CHECK_EQ(again, function);
}

TEST_CASE("global functions come after imports") {
  Function::SetGlobal("f", Function::FromTyped([] { return 8; }));
  Module without = NewEmpty(), with = NewEmpty();
  with->ImportModule(NewAnswer(3));
  TVMFFIObjectHandle function = nullptr;
  CHECK_EQ(Lookup(without, "f", &function), 0);
  CHECK_EQ(CallBorrowed(function), 8);
  CHECK_EQ(Lookup(with, "f", &function), 0);
  CHECK_EQ(CallBorrowed(function), 3);
  Function::RemoveGlobal("f");
  CHECK_EQ(CallBorrowed(function), 3);
}

TEST_CASE("a module may look up functions during a look-up") {
  Module inner = NewEmpty(), module = NewEmpty();
  inner->ImportModule(NewAnswer(6));
  module->ImportModule(NewCallback([&](const String& name) -> Optional<Function> {
    TVMFFIObjectHandle function = nullptr;
    CHECK_EQ(Lookup(inner, "f", &function), 0);
    return details::ObjectUnsafe::ObjectRefFromObjectPtr<Function>(
        details::ObjectUnsafe::ObjectPtrFromUnowned<Object>(static_cast<TVMFFIObject*>(function)));
  }));
  TVMFFIObjectHandle function = nullptr;
  CHECK_EQ(Lookup(module, "anything", &function), 0);
  CHECK_EQ(CallBorrowed(function), 6);
}

TEST_CASE("exceptions of a module do not leave the C function") {
  TVMFFIObjectHandle function = nullptr;
  auto lookup_where = [&](CallbackModule::Callback callback) {
    Module module = NewEmpty();
    module->ImportModule(NewCallback(std::move(callback)));
    return Lookup(module, "f", &function);
  };
  CHECK_RAISES(lookup_where([](const String&) -> Optional<Function> {
                 TVM_FFI_THROW(KeyError) << "refused";
                 TVM_FFI_UNREACHABLE();
               }),
               "KeyError", "refused");
  CHECK_RAISES(lookup_where([](const String&) -> Optional<Function> { throw std::bad_alloc(); }),
               "MemoryError", "out of memory");
  CHECK_RAISES(lookup_where([](const String&) -> Optional<Function> { throw 3; }), "InternalError",
               "unknown type");
  CHECK(function == nullptr);
}

TEST_CASE("threads get the same borrowed function") {
  Module module = NewEmpty();
  for (int64_t i = 0; i < 10; ++i) module->ImportModule(NewEmpty());
  module->ImportModule(NewAnswer(3));  // the module creates a new function for each request
  TVMFFIObjectHandle found[8] = {};
  RunTogether(8, [&](int i) {
    CHECK_EQ(Lookup(module, "f", &found[i]), 0);
    CHECK_EQ(CallBorrowed(found[i]), 3);
  });
  for (TVMFFIObjectHandle function : found) CHECK_EQ(function, found[0]);
}

// ---- Context symbols --------------------------------------------------------------------------

TEST_CASE("context symbols are visited in order") {
  CHECK_EQ(TVMFFIEnvModRegisterContextSymbol("__test_visit_a", &target_a), 0);
  CHECK_EQ(TVMFFIEnvModRegisterContextSymbol("__test_visit_b", &target_b), 0);
  std::vector<std::pair<std::string, void*>> seen;
  Module::VisitContextSymbols([&](String name, void* address) {
    seen.emplace_back(name, address);
    // A visitor of context symbols may register symbols; the current visit skips the new symbols.
    CHECK_EQ(TVMFFIEnvModRegisterContextSymbol("__test_visit_late", &target_a), 0);
  });
  CHECK_EQ(seen.size(), 2u);
  CHECK_EQ(seen[0].first, "__test_visit_a");
  CHECK_EQ(seen[0].second, static_cast<void*>(&target_a));
  CHECK_EQ(seen[1].first, "__test_visit_b");
  CHECK_EQ(seen[1].second, static_cast<void*>(&target_b));
}

TEST_CASE("an error of the visitor ends the visit") {
  CHECK_EQ(TVMFFIEnvModRegisterContextSymbol("__test_visit_c", &target_a), 0);
  int visits = 0;
  CHECK_EQ(Thrown([&] {
             Module::VisitContextSymbols([&](String name, void*) {
               ++visits;
               TVM_FFI_THROW(ValueError) << "enough";
             });
           }),
           "ValueError: enough");
  CHECK_EQ(visits, 1);
}
