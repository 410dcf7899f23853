// SPDX-License-Identifier: Apache-2.0
// Threads read the registered types and the imports of modules while other threads add to them.
// ThreadSanitizer checks the order of loads and stores; other builds check the values.
#include <doctest/doctest.h>
#include <tvm/ffi/any.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ffi/reflection/registry.h>

#include <atomic>
#include <string>

#include "../runtime/threads.h"

namespace {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

constexpr int kCount = 300;

int32_t NewType(const std::string& key) {
  TVMFFIByteArray name{key.data(), key.size()};
  return TVMFFITypeGetOrAllocIndex(&name, -1, 1, 0, 1, kTVMFFIObject);
}

// One thread runs `add` for 0, 1, ... while the other threads run `look` repeatedly.
template <typename Add, typename Look>
void WhileAdding(Add add, Look look) {
  std::atomic<bool> is_done{false};
  RunTogether(3, [&](int thread) {
    if (thread == 0) {
      for (int i = 0; i < kCount; ++i) add(i);
      is_done = true;
    } else {
      while (!is_done.load()) look();
    }
  });
  look();
}

TVMFFIByteArray ViewOf(const std::string& text) { return {text.data(), text.size()}; }

// Regression: the headers read size, block and entries of a column with plain loads.
TEST_CASE("attribute columns grow while threads read them") {
  std::vector<int32_t> types;
  for (int i = 0; i < kCount; ++i) types.push_back(NewType("test.column." + std::to_string(i)));
  const std::string text = "__test_concurrent__";
  TVMFFIByteArray name = ViewOf(text);
  TVMFFIAny none = {};
  CHECK_EQ(TVMFFITypeRegisterAttr(kTVMFFINone, &name, &none), 0);
  refl::TypeAttrColumn column(text);
  std::atomic<int> wrong{0};
  WhileAdding(
      [&](int i) {
        TVMFFIAny value = {};
        value.type_index = kTVMFFIInt;
        value.v_int64 = types[static_cast<size_t>(i)];
        CHECK_EQ(TVMFFITypeRegisterAttr(types[static_cast<size_t>(i)], &name, &value), 0);
      },
      [&] {
        for (int32_t type : types) {
          AnyView value = column[type];
          if (value.type_index() == kTVMFFINone) continue;
          if (value.cast<int64_t>() != type) ++wrong;
        }
      });
  CHECK_EQ(wrong.load(), 0);
}

// Regression: the headers read the fields of a type with plain loads.
TEST_CASE("fields are added while threads read them") {
  int32_t type = NewType("test.fields");
  std::atomic<int> wrong{0};
  std::atomic<int> most{0};
  WhileAdding(
      [&](int i) {
        std::string name = "field" + std::to_string(i);
        TVMFFIFieldInfo info = {};
        info.name = ViewOf(name);
        info.offset = i;
        CHECK_EQ(TVMFFITypeRegisterField(type, &info), 0);
      },
      [&] {
        int count = 0;
        refl::ForEachFieldInfo(TVMFFIGetTypeInfo(type), [&](const TVMFFIFieldInfo* field) {
          if (field->offset != count++) ++wrong;
        });
        if (count > most) most = count;
      });
  CHECK_EQ(wrong.load(), 0);
  CHECK_EQ(most.load(), kCount);
}

TEST_CASE("metadata is set while threads read it") {
  std::vector<int32_t> types;
  for (int i = 0; i < kCount; ++i) types.push_back(NewType("test.metadata." + std::to_string(i)));
  std::atomic<int> wrong{0};
  WhileAdding(
      [&](int i) {
        TVMFFITypeMetadata metadata = {};
        metadata.total_size = 24 + i;
        CHECK_EQ(TVMFFITypeRegisterMetadata(types[static_cast<size_t>(i)], &metadata), 0);
      },
      [&] {
        for (int i = 0; i < kCount; ++i) {
          const TVMFFITypeMetadata* metadata =
              refl::detail::MetadataOf(TVMFFIGetTypeInfo(types[static_cast<size_t>(i)]));
          if (metadata != nullptr && metadata->total_size != 24 + i) ++wrong;
        }
      });
  CHECK_EQ(wrong.load(), 0);
}

class PlainModuleObj final : public ModuleObj {
 public:
  const char* kind() const final { return "plain"; }
  Optional<Function> GetFunction(const String&) final { return std::nullopt; }
};
Module NewModule() { return Module(ObjectPtr<ModuleObj>(make_object<PlainModuleObj>())); }

// Regression: the field was read without the lock that guards imports. The check for a shared array
// used a load that does not order other owners' reads before the in-place change.
TEST_CASE("imports are added while threads read them") {
  Module module = NewModule();
  refl::FieldGetter imports("ffi.Module", "imports_");
  WhileAdding([&](int) { module->ImportModule(NewModule()); },
              [&] {
                Array<Any> seen = imports(module).cast<Array<Any>>();
                for (const Any& import : seen) CHECK(import.as<ModuleObj>() != nullptr);
              });
  CHECK_EQ(module->imports().size(), static_cast<size_t>(kCount));
}

class CellObj : public Object {
 public:
  explicit CellObj(int* last) : last(last) {}
  ~CellObj() { *last = value; }
  int value = 0;
  int* last;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.concurrent.Cell", CellObj, Object);
};

// Regression: a fence orders an owner's writes before the destructor, but ThreadSanitizer does not
// model fences and reported a false race.
TEST_CASE("destructors see the writes of other owners") {
  for (int round = 0; round < kCount; ++round) {
    int last = 0;
    ObjectPtr<CellObj> shared = make_object<CellObj>(&last);
    WeakObjectPtr<CellObj> weak = round % 2 == 0 ? WeakObjectPtr<CellObj>(shared) : nullptr;
    ObjectPtr<CellObj> owners[2] = {shared, shared};
    shared.reset();
    RunTogether(2, [&](int thread) {
      if (thread == 0) owners[0]->value = 5;
      owners[thread].reset();
    });
    CHECK_EQ(last, 5);
  }
}

}  // namespace
