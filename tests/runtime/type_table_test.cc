// SPDX-License-Identifier: Apache-2.0
// Type indices, keys and ancestors.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "raised.h"
#include "threads.h"
#include "values.h"

namespace {

struct Request {
  std::string_view key;
  int32_t static_index = -1;
  int32_t depth = 1;
  int32_t child_slots = 0;
  int32_t can_overflow = 1;
  int32_t parent = kTVMFFIObject;
};

int32_t Register(const Request& request) {
  TVMFFIByteArray key = Bytes(request.key);
  return TVMFFITypeGetOrAllocIndex(&key, request.static_index, request.depth, request.child_slots,
                                   request.can_overflow, request.parent);
}

int32_t Query(std::string_view key) { return Register({key, -1, 0, 0, 0, -2}); }

int KeyToIndex(std::string_view key, int32_t* index) {
  TVMFFIByteArray bytes = Bytes(key);
  return TVMFFITypeKeyToIndex(&bytes, index);
}

}  // namespace

TEST_CASE("built-in types have their keys") {
  struct Case {
    int32_t index;
    const char* key;
  };
  const Case cases[] = {
      {0, "None"},
      {1, "int"},
      {2, "bool"},
      {3, "float"},
      {4, "void*"},
      {5, "DataType"},
      {6, "Device"},
      {7, "DLTensor*"},
      {8, "const char*"},
      {9, "TVMFFIByteArray*"},
      {10, "ObjectRValueRef"},
      {11, "ffi.SmallStr"},
      {12, "ffi.SmallBytes"},
      {13, "ffi.Unchanged"},
      {64, "ffi.Object"},
      {65, "ffi.String"},
      {66, "ffi.Bytes"},
      {67, "ffi.Error"},
      {68, "ffi.Function"},
      {69, "ffi.Shape"},
      {70, "ffi.Tensor"},
      {71, "ffi.Array"},
      {72, "ffi.Map"},
      {73, "ffi.Module"},
      {74, "ffi.OpaquePyObject"},
      {75, "ffi.List"},
      {76, "ffi.Dict"},
      {77, "ffi.VisitInterrupt"},
      {78, "ffi.BigInt"},
  };
  const TVMFFITypeInfo* root = TVMFFIGetTypeInfo(64);
  for (const Case& c : cases) {
    const TVMFFITypeInfo* type = TVMFFIGetTypeInfo(c.index);
    CHECK_EQ(type->type_index, c.index);
    CHECK_EQ(Text(type->type_key), c.key);
    CHECK_EQ(type->type_depth, c.index > 64 ? 1 : 0);
    if (c.index > 64) CHECK_EQ(type->type_ancestors[0], root);
    int32_t index = -5;
    CHECK_EQ(KeyToIndex(c.key, &index), 0);
    CHECK_EQ(index, c.index);
  }
}

TEST_CASE("the key hash is that of the contract") {
  CHECK_EQ(TVMFFIGetTypeInfo(71)->type_key_hash, UINT64_C(9300778484448642049));   // ffi.Array
  CHECK_EQ(TVMFFIGetTypeInfo(64)->type_key_hash, UINT64_C(3720555700325843206));   // ffi.Object
  CHECK_EQ(TVMFFIGetTypeInfo(0)->type_key_hash, UINT64_C(18116513903021958570));   // None
  CHECK_EQ(TVMFFIGetTypeInfo(73)->type_key_hash, UINT64_C(18259748940616926208));  // ffi.Module
}

TEST_CASE("an unknown key is an internal error") {
  int32_t index = -5;
  CHECK_RAISES(KeyToIndex("test.Unknown", &index), "InternalError",
               "Cannot find type `test.Unknown`");
  CHECK_EQ(index, -5);
}

TEST_CASE("query mode registers nothing") {
  CHECK_EQ(Query("test.Queried"), -2);
  CHECK_EQ(Query("test.Queried"), -2);
  CHECK_EQ(Query("ffi.Array"), 71);
}

TEST_CASE("children take reserved slots and then overflow") {
  int32_t base = Register({"test.Base", -1, 1, 3});
  int32_t first = Register({"test.First", -1, 2, 0, 1, base});
  int32_t unrelated = Register({"test.Unrelated"});
  int32_t second = Register({"test.Second", -1, 2, 1, 1, base});
  int32_t grandchild = Register({"test.Grandchild", -1, 3, 0, 1, second});
  int32_t third = Register({"test.Third", -1, 2, 0, 1, base});
  CHECK(base >= 128);
  CHECK_EQ(first, base + 1);
  CHECK_EQ(unrelated, base + 4);
  CHECK_EQ(second, base + 2);
  CHECK_EQ(grandchild, base + 3);
  CHECK_EQ(third, base + 5);
}

TEST_CASE("a registered key returns its index whatever else is requested") {
  int32_t index = Register({"test.Twice", -1, 1, 2});
  CHECK_EQ(Register({"test.Twice", 90, 7, -3, 0, 9999}), index);
  CHECK_EQ(Query("test.Twice"), index);
  int32_t next = Register({"test.AfterTwice"});
  CHECK_EQ(next, index + 3);
}

TEST_CASE("ancestors go from the root to the parent") {
  int32_t parent = Register({"test.Parent", -1, 1, 1});
  int32_t child = Register({"test.Child", -1, 2, 0, 1, parent});
  int32_t leaf = Register({"test.Leaf", -1, 3, 0, 1, child});
  const TVMFFITypeInfo* type = TVMFFIGetTypeInfo(leaf);
  CHECK_EQ(type->type_depth, 3);
  CHECK_EQ(type->type_ancestors[0], TVMFFIGetTypeInfo(64));
  CHECK_EQ(type->type_ancestors[1], TVMFFIGetTypeInfo(parent));
  CHECK_EQ(type->type_ancestors[2], TVMFFIGetTypeInfo(child));
  CHECK_EQ(type->num_fields, 0);
  CHECK_EQ(type->num_methods, 0);
  CHECK(type->metadata == nullptr);
}

TEST_CASE("a free static index is assigned as requested") {
  CHECK_EQ(Register({"test.Static", 100}), 100);
  CHECK_EQ(Text(TVMFFIGetTypeInfo(100)->type_key), "test.Static");
}

// Regression: children got consecutive indices of their parent's range, including indices in use.
TEST_CASE("children skip indices that are in use within the range") {
  int32_t parent = Register({"test.Ranged", 101, 1, 4});
  CHECK_EQ(Register({"test.Ranged.fixed", 103, 2, 0, 1, parent}), 103);
  CHECK_EQ(Register({"test.Ranged.first", -1, 2, 0, 1, parent}), 102);
  CHECK_EQ(Register({"test.Ranged.second", -1, 2, 0, 1, parent}), 104);
  CHECK_EQ(Register({"test.Ranged.third", -1, 2, 0, 1, parent}), 105);
  CHECK(Register({"test.Ranged.fourth", -1, 2, 0, 1, parent}) >= kTVMFFIDynObjectBegin);
  CHECK_EQ(Text(TVMFFIGetTypeInfo(103)->type_key), "test.Ranged.fixed");
}

TEST_CASE("type info keeps its address when many types follow") {
  std::string key = "test.Stable";
  int32_t index = Register({key});
  key.assign(key.size(), '?');  // the type table has a copy of the text
  const TVMFFITypeInfo* before = TVMFFIGetTypeInfo(index);
  for (int i = 0; i < 3000; ++i) Register({"test.many." + std::to_string(i)});
  const TVMFFITypeInfo* after = TVMFFIGetTypeInfo(index);
  CHECK_EQ(before, after);
  CHECK_EQ(Text(after->type_key), "test.Stable");
}

TEST_CASE("an unregistered type index has a placeholder as its type") {
  for (int32_t index : {-1, 20, 79, 127, 1 << 20, INT32_MAX, INT32_MIN}) {
    const TVMFFITypeInfo* type = TVMFFIGetTypeInfo(index);
    CHECK_EQ(Text(type->type_key), "<unregistered type " + std::to_string(index) + ">");
    CHECK_EQ(type->type_depth, 0);
    CHECK_EQ(type->num_fields + type->num_methods, 0);
    CHECK_EQ(TVMFFIGetTypeInfo(index), type);
  }
}

TEST_CASE("placeholders of many type indices need little memory") {
  const TVMFFITypeInfo* last = nullptr;
  for (int32_t index = 3'000'000; index < 3'001'000; ++index) last = TVMFFIGetTypeInfo(index);
  CHECK_EQ(Text(last->type_key), "<unregistered type>");
  CHECK_EQ(TVMFFIGetTypeInfo(INT32_MAX - 1), last);
}

TEST_CASE("threads that register the same type get one index") {
  std::vector<int32_t> indices(8);
  RunTogether(8, [&](int i) {
    for (int round = 0; round < 100; ++round) {
      Register({"test.thread." + std::to_string(round), -1, 1, 1});
      int32_t index = Register({"test.raced." + std::to_string(round)});
      if (TVMFFIGetTypeInfo(index)->type_index != index) index = -1;
      indices[static_cast<size_t>(i)] = index;
    }
  });
  for (int32_t index : indices) CHECK_EQ(index, indices[0]);
  CHECK_EQ(Text(TVMFFIGetTypeInfo(indices[0])->type_key), "test.raced.99");
}

TEST_CASE("all keys are listed") {
  TVMFFIAny keys;
  CHECK_EQ(CallGlobal("ffi.GetRegisteredTypeKeys", {}, &keys), 0);
  CHECK_EQ(keys.type_index, 71);
  auto* cell = reinterpret_cast<TVMFFISeqCell*>(reinterpret_cast<char*>(keys.v_obj) + 24);
  CHECK(cell->data == reinterpret_cast<char*>(keys.v_obj) + 56);  // elements are inline
  CHECK((cell->data_deleter == nullptr));
  CHECK(cell->capacity >= cell->size);
  CHECK(cell->size >= 29);
  auto* elements = static_cast<TVMFFIAny*>(cell->data);
  CHECK_EQ(TextOf(elements[0]), "None");
  CHECK_EQ(TextOf(elements[28]), "ffi.BigInt");
  Release(keys);
}
