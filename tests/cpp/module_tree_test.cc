// SPDX-License-Identifier: Apache-2.0
// Libraries with embedded serialized modules: the module tree after loading, and clean-up after a
// failure.
#include <doctest/doctest.h>
#include <tvm/ffi/cast.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/module.h>

#include <atomic>
#include <deque>
#include <string>
#include <vector>

#include "../runtime/small_stack.h"
#include "../runtime/threads.h"
#include "thrown.h"

#ifndef EMBEDDING_LIBRARY
#define EMBEDDING_LIBRARY "embedding_library.so"  // the build passes the paths
#define OVERLONG_LIBRARY "overlong_library.so"
#endif

namespace {

using namespace tvm::ffi;

std::atomic<int> alive{0};

// Has one function, named like the payload that the module was made from, which returns the kind.
class LoadedModule : public ModuleObj {
 public:
  LoadedModule(std::string kind, std::string payload)
      : kind_(std::move(kind)), payload_(std::move(payload)) {
    ++alive;
  }
  ~LoadedModule() { --alive; }
  const char* kind() const override { return kind_.c_str(); }
  Optional<Function> GetFunction(const String& name) override {
    if (name != payload_) return std::nullopt;
    return Function::FromTyped([kind = kind_] { return kind; });
  }
  Bytes SaveToBytes() const override { return Bytes(payload_); }

 private:
  std::string kind_;
  std::string payload_;
};

// Registers the loaders of some kinds while it lives.
class Loaders {
 public:
  explicit Loaders(std::vector<std::string> kinds) : kinds_(std::move(kinds)) {
    for (const std::string& kind : kinds_) {
      Set(kind, [this, kind](const Bytes& payload) {
        payloads.push_back(std::string(payload));
        return Module(make_object<LoadedModule>(kind, std::string(payload)));
      });
    }
  }
  ~Loaders() {
    for (const std::string& kind : kinds_) Function::RemoveGlobal(Name(kind));
  }
  template <typename Load>
  static void Set(const std::string& kind, Load load) {
    Function::SetGlobal(Name(kind), Function::FromTyped(load), true);
  }
  std::vector<std::string> payloads;  // loaded payloads, in order

 private:
  static std::string Name(const std::string& kind) { return "ffi.Module.load_from_bytes." + kind; }
  std::vector<std::string> kinds_;
};

std::string Word(unsigned char value) {
  return std::string(1, static_cast<char>(value)) + std::string(7, '\0');
}
std::string Text(const std::string& text) {
  return Word(static_cast<unsigned char>(text.size())) + text;
}

void LinkIn(const std::string& symbol, void* address) {
  CHECK_EQ(TVMFFIEnvModRegisterSystemLibSymbol(symbol.c_str(), address), 0);
}

// Embeds the bytes in the program itself.
void Embed(const std::string& prefix, const std::string& rest) {
  static auto* images = new std::deque<std::string>();
  images->push_back(Word(static_cast<unsigned char>(rest.size())) + rest);
  LinkIn(prefix + "__tvm_ffi__library_bin", images->back().data());
}

Module SystemLibrary(const std::string& prefix) {
  return Function::GetGlobalRequired("ffi.SystemLib")(prefix).cast<Module>();
}

// Each prefix is loaded at most once.
Module LoadFromProgram(const std::string& prefix, const std::string& rest) {
  Embed(prefix, rest);
  return SystemLibrary(prefix);
}

Module Import(const Module& module, int64_t i) { return module->imports()[i].cast<Module>(); }

void* ContextOf(const Module& library) {
  return library->GetFunction("library_context").value()().cast<void*>();
}

}  // namespace

// ---- Successful loads -------------------------------------------------------------------------

TEST_CASE("a diamond is rebuilt") {
  {
    Loaders loaders({"a", "b"});
    Module top = Module::LoadFromFile(EMBEDDING_LIBRARY);
    CHECK(loaders.payloads == (std::vector<std::string>{"top", "left", "end"}));
    CHECK_EQ(std::string(top->kind()), "a");
    CHECK_EQ(top->imports().size(), 2u);
    Module library = Import(top, 0), left = Import(top, 1);
    CHECK_EQ(std::string(library->kind()), "library");
    CHECK_EQ(std::string(left->kind()), "b");
    CHECK_EQ(library->imports().size(), 1u);
    CHECK_EQ(left->imports().size(), 1u);
    Module shared = Import(left, 0);
    CHECK(shared.same_as(Import(library, 0)));
    CHECK_EQ(std::string(shared->kind()), "a");
    CHECK_EQ(shared->imports().size(), 0u);
    CHECK_EQ(alive.load(), 3);
    CHECK_EQ(top.use_count(), 1);
    CHECK_EQ(shared.use_count(), 3);  // including this variable's reference
  }
  CHECK_EQ(alive.load(), 0);
}

TEST_CASE("generated code reaches its module and its imports") {
  Loaders loaders({"a", "b"});
  Module top = Module::LoadFromFile(EMBEDDING_LIBRARY);
  Module library = Import(top, 0);
  // The slot holds the library's module, at any position in the tree.
  CHECK_EQ(ContextOf(library), static_cast<void*>(static_cast<ModuleObj*>(library.get())));
  Function call_import = library->GetFunction("call_import").value();
  CHECK_EQ(call_import("end").cast<String>(), "a");
  CHECK_EQ(Thrown([&] { call_import("left"); }),
           "RuntimeError: Cannot find function left in the imported modules or global registry.");
  CHECK_EQ(top->GetFunction("left", true).value()().cast<String>(), "b");
}

TEST_CASE("each load creates new modules") {
  Loaders loaders({"a", "b"});
  Module first = Module::LoadFromFile(EMBEDDING_LIBRARY);
  Module second = Module::LoadFromFile(EMBEDDING_LIBRARY);
  CHECK_EQ(alive.load(), 6);
  Module library = Import(second, 0);
  CHECK_EQ(ContextOf(Import(first, 0)), static_cast<void*>(library.get()));
}

TEST_CASE("programs embed modules as well") {
  Loaders loaders({"a"});
  Module module = LoadFromProgram("tree_", Word(3) + Word(0) + Word(1) + Word(1) + Word(1) +
                                               Word(1) + Text("_lib") + Text("a") + Text("xyz"));
  CHECK_EQ(std::string(module->kind()), "library");
  CHECK_EQ(Import(module, 0)->SaveToBytes(), "xyz");
  CHECK(SystemLibrary("tree_").same_as(module));
}

TEST_CASE("a library may be several modules of its tree") {
  static void* context = nullptr;
  LinkIn("twice___tvm_ffi__library_ctx", &context);
  Loaders loaders({"a"});
  // The library imports `a`, which imports the library under another index.
  Module first = LoadFromProgram("twice_", Word(4) + Word(0) + Word(1) + Word(2) + Word(2) +
                                               Word(2) + Word(1) + Word(2) + Text("_lib") +
                                               Text("a") + Text("xyz") + Text("_lib"));
  Module last = Import(Import(first, 0), 0);
  CHECK_EQ(std::string(first->kind()), "library");
  CHECK_EQ(std::string(last->kind()), "library");
  CHECK(!last.same_as(first));
  CHECK_EQ(last->imports().size(), 0u);
  CHECK_EQ(context, static_cast<void*>(last.get()));  // like the incumbent
}

TEST_CASE("a library need not be in its tree") {
  Loaders loaders({"a"});
  Module module =
      LoadFromProgram("no_lib_", Word(2) + Word(0) + Word(0) + Word(0) + Text("a") + Text("alone"));
  CHECK_EQ(std::string(module->kind()), "a");
  CHECK_EQ(module->imports().size(), 0u);
}

TEST_CASE("a module may be made from an empty payload") {
  Loaders loaders({"a"});
  Module module =
      LoadFromProgram("empty_", Word(2) + Word(0) + Word(0) + Word(0) + Text("a") + Text(""));
  CHECK_EQ(module->GetFunction("").value()().cast<String>(), "a");
}

TEST_CASE("loaders may load libraries") {
  Loaders loaders({"a", "b"});
  Loaders::Set("outer", [](Bytes) { return SystemLibrary("tree_inner_"); });
  Module module = LoadFromProgram("tree_outer_",
                                  Word(2) + Word(0) + Word(0) + Word(0) + Text("outer") + Text(""));
  CHECK_EQ(std::string(module->kind()), "library");
}

TEST_CASE("threads load one system library") {
  static void* context = nullptr;
  LinkIn("threads___tvm_ffi__library_ctx", &context);
  Embed("threads_", Word(3) + Word(0) + Word(1) + Word(1) + Word(1) + Word(1) + Text("_lib") +
                        Text("slow") + Text(""));
  Loaders::Set("slow", [](Bytes payload) {
    std::this_thread::yield();
    return Module(make_object<LoadedModule>("slow", std::string(payload)));
  });
  int before = alive;
  std::vector<Module> loaded(8, Module(UnsafeInit{}));
  RunTogether(8, [&](int i) { loaded[static_cast<size_t>(i)] = SystemLibrary("threads_"); });
  for (const Module& module : loaded) CHECK(module.same_as(loaded[0]));
  CHECK_EQ(context, static_cast<void*>(loaded[0].get()));
  CHECK_EQ(alive.load(), before + 1);
}

// ---- Failures ---------------------------------------------------------------------------------

TEST_CASE("a missing loader is named before any module is created") {
  int before = alive;
  Loaders loaders({"a"});
  CHECK_EQ(Thrown([] { Module::LoadFromFile(EMBEDDING_LIBRARY); }),
           "RuntimeError: Library binary was created using {b} but a loader of that name is not "
           "registered. Failed to load " EMBEDDING_LIBRARY
           ": it embeds a module of kind `b`, which the global function "
           "`ffi.Module.load_from_bytes.b` would make. First import the Python package that "
           "registers this function, or load the library that contains it");
  CHECK(loaders.payloads.empty());
  CHECK_EQ(alive.load(), before);
}

TEST_CASE("the error of a loader is passed on and nothing leaks") {
  int before = alive;
  Loaders loaders({"a", "b"});
  Module good = Module::LoadFromFile(EMBEDDING_LIBRARY);
  Loaders::Set("b", [](Bytes) -> Module {
    TVM_FFI_THROW(KeyError) << "not this one";
    TVM_FFI_UNREACHABLE();
  });
  CHECK_EQ(Thrown([] { Module::LoadFromFile(EMBEDDING_LIBRARY); }), "KeyError: not this one");
  CHECK_EQ(alive.load(), before + 3);
  // The module that was loaded before still serves its library.
  Module library = Import(good, 0);
  CHECK_EQ(ContextOf(library), static_cast<void*>(library.get()));
  CHECK_EQ(library->GetFunction("call_import").value()("end").cast<String>(), "a");
}

TEST_CASE("a loader that returns no module is named") {
  int before = alive;
  Loaders loaders({"a", "b"});
  Loaders::Set("b", [](Bytes) { return 3; });
  CHECK_EQ(Thrown([] { Module::LoadFromFile(EMBEDDING_LIBRARY); }),
           "TypeError: Failed to load " EMBEDDING_LIBRARY
           ": the loader `ffi.Module.load_from_bytes.b` must return `ffi.Module`, "
           "got `int`");
  CHECK_EQ(alive.load(), before);
}

TEST_CASE("a loader that returns one module for all payloads may close a cycle") {
  Module one(make_object<LoadedModule>("one", ""));
  Loaders::Set("one", [&](Bytes) { return one; });
  CHECK_EQ(Thrown([] {
             LoadFromProgram("cycle_", Word(3) + Word(0) + Word(1) + Word(1) + Word(1) + Word(1) +
                                           Text("one") + Text("") + Text("one") + Text(""));
           }),
           "RuntimeError: a module must not import itself, directly or through other modules");
  CHECK_EQ(one.use_count(), 1);
}

TEST_CASE("malformed bytes are rejected with the name of the library") {
  CHECK_EQ(Thrown([] { LoadFromProgram("bad_", Word(1) + Word(0)); }),
           "RuntimeError: Failed to load the system library: __tvm_ffi__library_bin is malformed "
           "at byte 8: expected at least one module, got none");
}

TEST_CASE("nothing is read past the symbol") {
  CHECK_EQ(Thrown([] { Module::LoadFromFile(OVERLONG_LIBRARY); }),
           "RuntimeError: Failed to load " OVERLONG_LIBRARY
           ": __tvm_ffi__library_bin is malformed at byte 0: 44 bytes should follow, but the "
           "symbol has 32 in all");
}

TEST_CASE("a library that its own loader loads is an error, not a crash") {
  Loaders loaders({"a"});
  Loaders::Set("b", [](Bytes) { return Module::LoadFromFile(EMBEDDING_LIBRARY); });
  std::string thrown;
  OnSmallStack([&] { thrown = Thrown([] { Module::LoadFromFile(EMBEDDING_LIBRARY); }); });
  CHECK_EQ(thrown, "RuntimeError: Failed to load " EMBEDDING_LIBRARY
                   ": the libraries that load one another are nested too deep for the stack");
  Function::RemoveGlobal("ffi.Module.load_from_bytes.b");
}
