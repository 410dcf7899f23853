// SPDX-License-Identifier: Apache-2.0
// Small and heap forms of strings and bytes, and conversion of views to owned values.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "raised.h"
#include "values.h"

namespace {

using MakeText = int (*)(const TVMFFIByteArray*, TVMFFIAny*);

TVMFFIAny Make(MakeText make, std::string_view text) {
  TVMFFIByteArray input = Bytes(text);
  TVMFFIAny any = GarbageAny();
  CHECK_EQ(make(&input, &any), 0);
  return any;
}

struct Form {
  MakeText make;
  int32_t small_index;
  int32_t heap_index;
};
constexpr Form kForms[] = {{&TVMFFIStringFromByteArray, 11, 65},
                           {&TVMFFIBytesFromByteArray, 12, 66}};

TVMFFIAny ToOwned(const TVMFFIAny& view) {
  TVMFFIAny owned = GarbageAny();
  CHECK_EQ(TVMFFIAnyViewToOwnedAny(&view, &owned), 0);
  return owned;
}

}  // namespace

TEST_CASE("an empty string is small with zero payload") {
  for (const Form& form : kForms) {
    TVMFFIByteArray nothing = {nullptr, 0};
    TVMFFIAny any = GarbageAny();
    CHECK_EQ(form.make(&nothing, &any), 0);
    CHECK(SameBytes(any, PlainAny(form.small_index, 0)));
  }
}

TEST_CASE("a small string keeps its length and zeroes the rest") {
  for (const Form& form : kForms) {
    TVMFFIAny any = Make(form.make, "ab");
    CHECK_EQ(any.type_index, form.small_index);
    CHECK_EQ(any.small_str_len, 2u);
    CHECK_EQ(any.v_uint64, UINT64_C(0x6261));
  }
}

TEST_CASE("seven bytes are still small") {
  for (const Form& form : kForms) {
    TVMFFIAny any = Make(form.make, "abcdefg");
    CHECK_EQ(any.type_index, form.small_index);
    CHECK_EQ(any.small_str_len, 7u);
    CHECK_EQ(any.v_uint64, UINT64_C(0x0067666564636261));
  }
}

TEST_CASE("eight bytes are a heap object with content after the cell") {
  for (const Form& form : kForms) {
    TVMFFIAny any = Make(form.make, "abcdefgh");
    CHECK_EQ(any.type_index, form.heap_index);
    CHECK_EQ(any.zero_padding, 0u);
    CHECK_EQ(any.v_obj->type_index, form.heap_index);
    CHECK_EQ(any.v_obj->combined_ref_count, UINT64_C(0x0000000100000001));
    const TVMFFIByteArray* cell = TVMFFIBytesGetByteArrayPtr(any.v_obj);
    CHECK_EQ(cell->size, 8u);
    CHECK(cell->data == reinterpret_cast<const char*>(any.v_obj) + 40);
    CHECK_EQ(std::string_view(cell->data, 8), "abcdefgh");
    CHECK_EQ(int{cell->data[8]}, 0);
    Release(any);
  }
}

TEST_CASE("embedded nul bytes are content") {
  const std::string_view small("a\0b", 3);
  const std::string_view large(
      "0123\0"
      "567\0",
      9);
  for (const Form& form : kForms) {
    TVMFFIAny any = Make(form.make, small);
    CHECK_EQ(any.small_str_len, 3u);
    CHECK_EQ(any.v_uint64, UINT64_C(0x620061));
    CHECK_EQ(TakeText(Make(form.make, large)), large);
  }
}

TEST_CASE("content is copied and needs no terminator") {
  std::string source(1000, 'x');
  TVMFFIAny any = Make(&TVMFFIStringFromByteArray, std::string_view(source).substr(0, 999));
  source.assign(1000, 'y');
  CHECK_EQ(TakeText(any), std::string(999, 'x'));
}

TEST_CASE("plain values become owned byte for byte") {
  const TVMFFIAny views[] = {
      None(),
      Int(-1),
      Bool(true),
      PlainAny(kTVMFFIFloat, 0x7ff8000000000001),  // a NaN keeps its payload bits
      Pointer(kTVMFFIOpaquePtr, nullptr),
      PlainAny(kTVMFFIDataType, 0x00042002),
      PlainAny(kTVMFFIDevice, UINT64_C(0x0000000300000002)),
      Pointer(kTVMFFIDLTensorPtr, &views),
      PlainAny(kTVMFFIUnchanged, 0),
  };
  for (const TVMFFIAny& view : views) CHECK(SameBytes(ToOwned(view), view));
}

TEST_CASE("a small string becomes owned byte for byte") {
  for (const Form& form : kForms) {
    TVMFFIAny view = Make(form.make, "abc");
    CHECK(SameBytes(ToOwned(view), view));
  }
}

TEST_CASE("an object becomes owned with one more reference") {
  TVMFFIObjectHandle object = NewOpaque(nullptr, nullptr);
  TVMFFIAny owned = ToOwned(ViewOf(object));
  CHECK(SameBytes(owned, ViewOf(object)));
  CHECK_EQ(StrongCount(object), 2u);
  Release(owned);
  CHECK_EQ(StrongCount(object), 1u);
  TVMFFIObjectDecRef(object);
}

TEST_CASE("a raw string becomes a new string") {
  struct Case {
    const char* text;
    int32_t type_index;
  };
  for (const Case& c : {Case{"", 11}, Case{"abcdefg", 11}, Case{"abcdefgh", 65}}) {
    TVMFFIAny owned = ToOwned(RawStr(c.text));
    CHECK_EQ(owned.type_index, c.type_index);
    CHECK_EQ(TakeText(owned), c.text);
  }
}

TEST_CASE("a byte array becomes new bytes") {
  struct Case {
    std::string_view content;
    int32_t type_index;
  };
  for (const Case& c : {Case{std::string_view("\0", 1), 12}, Case{"abcdefg", 12},
                        Case{std::string_view("abcd\0fgh", 8), 66}}) {
    TVMFFIByteArray content = Bytes(c.content);
    TVMFFIAny owned = ToOwned(Pointer(kTVMFFIByteArrayPtr, &content));
    CHECK_EQ(owned.type_index, c.type_index);
    CHECK_EQ(TakeText(owned), c.content);
  }
}

TEST_CASE("an rvalue reference moves the object out of its slot") {
  TVMFFIObjectHandle object = NewOpaque(nullptr, nullptr);
  TVMFFIObjectHandle slot = object;
  TVMFFIAny owned = ToOwned(Pointer(kTVMFFIObjectRValueRef, &slot));
  CHECK(slot == nullptr);
  CHECK(SameBytes(owned, PlainAny(74, reinterpret_cast<uintptr_t>(object))));
  CHECK_EQ(StrongCount(object), 1u);
  Release(owned);
}

TEST_CASE("a moved-from rvalue reference is an error") {
  TVMFFIObjectHandle slot = nullptr;
  TVMFFIAny view = Pointer(kTVMFFIObjectRValueRef, &slot);
  TVMFFIAny owned = GarbageAny();
  CHECK_RAISES(TVMFFIAnyViewToOwnedAny(&view, &owned), "InternalError", "RValueRef already moved");
  CHECK(SameBytes(owned, GarbageAny()));
}
