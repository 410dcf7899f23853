// SPDX-License-Identifier: Apache-2.0
// ModuleObj as a base class: default behaviour, imports, and binary layout.
#include <doctest/doctest.h>
#include <tvm/ffi/cast.h>
#include <tvm/ffi/extra/module.h>

#include <atomic>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "../runtime/threads.h"
#include "thrown.h"

namespace {

using namespace tvm::ffi;

// A minimal user module.
class PlainModule : public ModuleObj {
 public:
  const char* kind() const { return "plain"; }
  Optional<Function> GetFunction(const String& name) { return std::nullopt; }
};

// Returns a number for each name, and counts the look-ups.
class TableModule : public ModuleObj {
 public:
  explicit TableModule(std::map<std::string, int64_t> numbers) : numbers_(std::move(numbers)) {
    ++alive;
  }
  ~TableModule() { --alive; }

  const char* kind() const { return "table"; }
  Optional<Function> GetFunction(const String& name) {
    ++num_look_ups;
    auto found = numbers_.find(name);
    if (found == numbers_.end()) return std::nullopt;
    return Function::FromTyped([this, number = found->second] { return number + offset; });
  }
  Optional<String> GetFunctionDoc(const String& name) {
    if (numbers_.count(name) == 0) return std::nullopt;
    return String("doc " + std::string(name) + " " + std::to_string(numbers_[name]));
  }
  Optional<String> GetFunctionMetadata(const String& name) {
    if (numbers_.count(name) == 0) return std::nullopt;
    return String("{\"number\":" + std::to_string(numbers_[name]) + "}");
  }

  int64_t offset = 0;
  static inline std::atomic<int> alive{0};
  static inline std::atomic<int> num_look_ups{0};

 private:
  std::map<std::string, int64_t> numbers_;
};

Module NewTable(std::map<std::string, int64_t> numbers) {
  return Module(make_object<TableModule>(std::move(numbers)));
}

int64_t CallNumber(const Module& module, const char* name) {
  return module->GetFunction(name, true).value()().cast<int64_t>();
}

bool Has(const Module& module, const char* name) {
  return module->GetFunction(name, true).has_value();
}

// Records imports instead of making them.
class RecordingModule : public PlainModule {
 public:
  void ImportModule(const Module& other) { seen.push_back(other); }
  void ClearImports() { seen.clear(); }
  std::vector<Module> seen;
};

// The vtable offset of a virtual function.  Itanium ABI: a pointer to it begins with the offset;
// the lowest bit may mark it as virtual.
template <typename F>
size_t SlotOffset(F function) {
  static_assert(sizeof(function) == 16, "pointers to member functions are two words");
  uintptr_t words[2];
  std::memcpy(words, &function, sizeof(words));
  return words[0] & ~uintptr_t{1};
}

}  // namespace

// ---- A derived class --------------------------------------------------------------------------

TEST_CASE("a subclass is a module with data members") {
  {
    auto table = make_object<TableModule>(std::map<std::string, int64_t>{{"f", 40}});
    table->offset = 2;
    Module module(table);
    CHECK_EQ(std::string(module->kind()), "table");
    CHECK_EQ(module.type_index(), 73);
    CHECK_EQ(module.GetTypeKey(), "ffi.Module");
    CHECK_EQ(CallNumber(module, "f"), 42);
    CHECK_EQ(TableModule::alive.load(), 1);
    CHECK_EQ(module.use_count(), 2);
    CHECK_EQ(static_cast<TableModule*>(module.get())->offset, 2);
    CHECK(Any(module).cast<Module>().same_as(module));
    CHECK(GetRef<Module>(module.get()).same_as(module));
  }
  CHECK_EQ(TableModule::alive.load(), 0);
}

TEST_CASE("by default nothing is supported") {
  Module module(make_object<PlainModule>());
  CHECK_EQ(module->GetPropertyMask(), 0);
  CHECK(!module->GetFunctionDoc("f").has_value());
  CHECK(!module->GetFunctionMetadata("f").has_value());
  CHECK_EQ(module->GetWriteFormats().size(), 0u);
  CHECK_EQ(module->InspectSource("c"), "");
  CHECK_EQ(module->imports().size(), 0u);
  CHECK_EQ(Thrown([&] { module->WriteToFile("a.o", "o"); }),
           "RuntimeError: Module[plain] does not support WriteToFile");
  CHECK_EQ(Thrown([&] { module->SaveToBytes(); }),
           "RuntimeError: Module[plain] does not support SaveToBytes");
}

TEST_CASE("implements_function follows get_function") {
  Module module = NewTable({{"f", 1}});
  CHECK(module->ImplementsFunction("f"));
  CHECK(!module->ImplementsFunction("g"));
}

TEST_CASE("a module is never null") {
  CHECK_EQ(Thrown([] { Module module{ObjectPtr<ModuleObj>()}; }),
           "InternalError: expected a `ffi.Module`, got a null reference");
  CHECK(!Any(nullptr).try_cast<Module>().has_value());
  Module module(make_object<PlainModule>());
  CHECK_EQ(Thrown([&] { module->ImportModule(Module(UnsafeInit{})); }),
           "InternalError: expected a `ffi.Module`, got a null reference");
}

TEST_CASE("global functions call the module through the vtable") {
  auto recording = make_object<RecordingModule>();
  Module module(recording), other = NewTable({{"f", 5}});
  CHECK_EQ(Function::GetGlobalRequired("ffi.ModuleGetKind")(module).cast<String>(), "plain");
  Function::GetGlobalRequired("ffi.ModuleImportModule")(module, other);
  CHECK_EQ(recording->seen.size(), 1u);
  CHECK(recording->seen[0].same_as(other));
  Function::GetGlobalRequired("ffi.ModuleClearImports")(module);
  CHECK_EQ(recording->seen.size(), 0u);
  Function get = Function::GetGlobalRequired("ffi.ModuleGetFunction");
  CHECK_EQ(get(other, "f", false).cast<Function>()().cast<int64_t>(), 5);
  CHECK(get(other, "g", true) == nullptr);
  CHECK_EQ(Thrown([&] { Function::GetGlobalRequired("ffi.ModuleWriteToFile")(other, "a", "o"); }),
           "RuntimeError: Module[table] does not support WriteToFile");
}

// ---- Imports ----------------------------------------------------------------------------------

TEST_CASE("a module's functions come first, then its imports depth first") {
  Module top = NewTable({{"own", 1}}), left = NewTable({{"l", 2}}), right = NewTable({{"r", 3}});
  Module below = NewTable({{"own", 10}, {"l", 20}, {"r", 30}, {"deep", 40}});
  left->ImportModule(below);
  top->ImportModule(left);
  top->ImportModule(right);
  CHECK_EQ(CallNumber(top, "own"), 1);
  CHECK_EQ(CallNumber(top, "l"), 2);
  CHECK_EQ(CallNumber(top, "r"), 30);  // below comes before right
  CHECK_EQ(CallNumber(top, "deep"), 40);
  CHECK(!Has(top, "none"));
  CHECK(!top->GetFunction("l", false).has_value());
  CHECK(!top->GetFunction("l").has_value());
  CHECK(top->ImplementsFunction("deep", true));
  CHECK(!top->ImplementsFunction("deep", false));
  CHECK(!top->ImplementsFunction("none", true));
}

TEST_CASE("doc and metadata are searched in the same order") {
  Module top = NewTable({{"f", 1}}), imported = NewTable({{"f", 2}, {"g", 3}});
  top->ImportModule(imported);
  CHECK_EQ(top->GetFunctionDoc("f", true).value(), "doc f 1");
  CHECK_EQ(top->GetFunctionDoc("g", true).value(), "doc g 3");
  CHECK(!top->GetFunctionDoc("g", false).has_value());
  CHECK(!top->GetFunctionDoc("none", true).has_value());
  CHECK_EQ(top->GetFunctionMetadata("f", true).value(), "{\"number\":1}");
  CHECK_EQ(top->GetFunctionMetadata("g", true).value(), "{\"number\":3}");
  CHECK(!top->GetFunctionMetadata("none", true).has_value());
}

TEST_CASE("imports are listed in order and can be cleared") {
  Module module = NewTable({}), first = NewTable({{"f", 1}}), second = NewTable({{"f", 2}});
  module->ImportModule(first);
  module->ImportModule(second);
  module->ImportModule(first);  // twice is allowed
  CHECK_EQ(module->imports().size(), 3u);
  CHECK(module->imports()[0].cast<Module>().same_as(first));
  CHECK(module->imports()[1].cast<Module>().same_as(second));
  CHECK_EQ(first.use_count(), 3);
  Array<Any> kept = module->imports();
  module->ClearImports();
  CHECK_EQ(module->imports().size(), 0u);
  CHECK_EQ(kept.size(), 3u);
  CHECK(!Has(module, "f"));
  kept.clear();
  CHECK_EQ(first.use_count(), 1);
}

TEST_CASE("a cyclic import is rejected and changes nothing") {
  Module a = NewTable({}), b = NewTable({}), c = NewTable({});
  const char* refusal =
      "RuntimeError: a module must not import itself, directly or through other modules";
  CHECK_EQ(Thrown([&] { a->ImportModule(a); }), refusal);
  a->ImportModule(b);
  b->ImportModule(c);
  CHECK_EQ(Thrown([&] { c->ImportModule(a); }), refusal);
  CHECK_EQ(Thrown([&] { c->ImportModule(b); }), refusal);
  CHECK_EQ(c->imports().size(), 0u);
  a->ImportModule(c);  // a diamond
  b->ClearImports();
  c->ImportModule(b);  // the reverse edge no longer exists
  CHECK_EQ(a->imports().size(), 2u);
}

TEST_CASE("every module is searched once, however many paths lead to it") {
  // 40 diamonds in a row: 2^40 paths from the first to the last.
  Module below = NewTable({{"f", 7}});
  for (int i = 0; i < 40; ++i) {
    Module left = NewTable({}), right = NewTable({}), above = NewTable({});
    left->ImportModule(below);
    right->ImportModule(below);
    above->ImportModule(left);
    above->ImportModule(right);
    below = above;
  }
  TableModule::num_look_ups = 0;
  CHECK(!Has(below, "none"));
  CHECK_EQ(TableModule::num_look_ups.load(), 121);  // 3 for each diamond, and the last
  CHECK_EQ(CallNumber(below, "f"), 7);
}

TEST_CASE("long chains and many imports") {
  Module chain = NewTable({{"last", 9}});
  for (int i = 0; i < 500; ++i) {
    Module next = NewTable({});
    next->ImportModule(chain);
    chain = next;
  }
  CHECK_EQ(CallNumber(chain, "last"), 9);
  Module wide = NewTable({});
  for (int64_t i = 0; i < 10000; ++i) wide->ImportModule(NewTable({{"n" + std::to_string(i), i}}));
  CHECK_EQ(wide->imports().size(), 10000u);
  CHECK_EQ(CallNumber(wide, "n9999"), 9999);
  CHECK_EQ(CallNumber(wide, "n0"), 0);
}

TEST_CASE("an error of an import reaches the caller") {
  class Refusing : public PlainModule {
   public:
    Optional<Function> GetFunction(const String& name) {
      TVM_FFI_THROW(KeyError) << "no " << name;
      TVM_FFI_UNREACHABLE();
    }
  };
  Module module = NewTable({{"f", 1}});
  module->ImportModule(Module(make_object<Refusing>()));
  CHECK_EQ(CallNumber(module, "f"), 1);
  CHECK_EQ(Thrown([&] { Has(module, "g"); }), "KeyError: no g");
}

TEST_CASE("threads search while other threads import") {
  Module module = NewTable({{"own", 1}}), common = NewTable({{"f", 2}});
  module->ImportModule(common);
  RunTogether(6, [&](int i) {
    for (int round = 0; round < 200; ++round) {
      if (i == 0) {
        module->ImportModule(NewTable({{"g" + std::to_string(round), round}}));
      } else {
        CHECK_EQ(CallNumber(module, "f"), 2);
        CHECK(!Has(module, "none"));
      }
    }
  });
  CHECK_EQ(module->imports().size(), 201u);
}

TEST_CASE("two threads cannot close a cycle") {
  for (int round = 0; round < 200; ++round) {
    Module pair[] = {NewTable({}), NewTable({})};
    std::atomic<int> refused{0};
    RunTogether(2, [&](int i) {
      if (!Thrown([&] { pair[i]->ImportModule(pair[1 - i]); }).empty()) ++refused;
    });
    CHECK_EQ(refused.load(), 1);
  }
}

// ---- Layout -----------------------------------------------------------------------------------

TEST_CASE("the object has the layout of the contract") {
  auto table = make_object<TableModule>(std::map<std::string, int64_t>{});
  Module module(table);
  auto address = [](const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); };
  uintptr_t object = address(static_cast<ModuleObj*>(table.get()));
  CHECK_EQ(sizeof(ModuleObj), 48u);
  CHECK_EQ(address(detail::ObjectUnsafe::GetHeader(module.get())) - object, 8u);
  CHECK_EQ(address(&module->imports()) - object, 32u);
  CHECK_EQ(address(&table->offset) - object, 48u);
  // A reference is the address of the header.
  uintptr_t reference;
  std::memcpy(&reference, &module, sizeof(reference));
  CHECK_EQ(reference - object, 8u);
  // The lookup cache, a Map, follows the imports.
  TVMFFIObject* cache;
  std::memcpy(&cache, reinterpret_cast<void*>(object + 40), sizeof(cache));
  CHECK_EQ(cache->type_index, 72);
}

TEST_CASE("virtual functions have their vtable positions") {
  using Name = const String&;
  // Contract offsets include the two words before the address that the vptr holds.
  CHECK_EQ(SlotOffset(&ModuleObj::kind), 16u - 16);
  CHECK_EQ(SlotOffset(&ModuleObj::GetPropertyMask), 24u - 16);
  CHECK_EQ(SlotOffset<Optional<Function> (ModuleObj::*)(Name)>(&ModuleObj::GetFunction), 32u - 16);
  CHECK_EQ(SlotOffset<bool (ModuleObj::*)(Name)>(&ModuleObj::ImplementsFunction), 40u - 16);
  CHECK_EQ(SlotOffset<Optional<String> (ModuleObj::*)(Name)>(&ModuleObj::GetFunctionDoc), 48u - 16);
  CHECK_EQ(SlotOffset<Optional<String> (ModuleObj::*)(Name)>(&ModuleObj::GetFunctionMetadata),
           56u - 16);
  CHECK_EQ(SlotOffset(&ModuleObj::WriteToFile), 64u - 16);
  CHECK_EQ(SlotOffset(&ModuleObj::GetWriteFormats), 72u - 16);
  CHECK_EQ(SlotOffset(&ModuleObj::SaveToBytes), 80u - 16);
  CHECK_EQ(SlotOffset(&ModuleObj::InspectSource), 88u - 16);
  CHECK_EQ(SlotOffset(&ModuleObj::ImportModule), 96u - 16);
  CHECK_EQ(SlotOffset(&ModuleObj::ClearImports), 104u - 16);
}

TEST_CASE("the type is registered with its field") {
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(73);
  CHECK(info->metadata != nullptr);
  CHECK_EQ(info->metadata->total_size, 48);
  CHECK((info->metadata->creator == nullptr));
  CHECK_EQ(info->num_fields, 1);
  const TVMFFIFieldInfo& field = info->fields[0];
  CHECK_EQ(std::string(field.name.data, field.name.size), "imports_");
  CHECK_EQ(field.offset, 24);
  CHECK_EQ(field.size, 8);
  CHECK_EQ(field.flags, 0);
  CHECK_EQ(field.field_static_type_index, 71);
  CHECK_EQ(ModuleObj::_GetOrAllocRuntimeTypeIndex(), 73);
}

TEST_CASE("constants have their values") {
  CHECK_EQ(static_cast<int>(Module::kBinarySerializable), 1);
  CHECK_EQ(static_cast<int>(Module::kRunnable), 2);
  CHECK_EQ(static_cast<int>(Module::kCompilationExportable), 4);
  CHECK_EQ(std::string(symbol::tvm_ffi_symbol_prefix), "__tvm_ffi_");
  CHECK_EQ(std::string(symbol::tvm_ffi_main), "__tvm_ffi_main");
  CHECK_EQ(std::string(symbol::tvm_ffi_library_ctx), "__tvm_ffi__library_ctx");
  CHECK_EQ(std::string(symbol::tvm_ffi_library_bin), "__tvm_ffi__library_bin");
  CHECK_EQ(std::string(symbol::tvm_ffi_metadata_prefix), "__tvm_ffi__metadata_");
  CHECK_EQ(std::string(symbol::tvm_ffi_doc_prefix), "__tvm_ffi__doc_");
}
