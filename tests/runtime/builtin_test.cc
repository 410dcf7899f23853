// SPDX-License-Identifier: Apache-2.0
// Global functions of the runtime: argument checks, and results of the constructors of plain
// objects.  test_global_function_metadata.py compares their metadata with the contract.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "raised.h"
#include "values.h"

namespace {

int Call(const char* name, std::vector<TVMFFIAny> args) {
  TVMFFIAny result;
  int code = CallGlobal(name, std::move(args), &result);
  if (code == 0) Release(result);
  return code;
}

TVMFFIAny Ask(const char* name, std::vector<TVMFFIAny> args) {
  TVMFFIAny result;
  CHECK_EQ(CallGlobal(name, std::move(args), &result), 0);
  return result;
}

int Answer(void* self, const TVMFFIAny*, int32_t, TVMFFIAny* result) {
  *result = Int(*static_cast<int*>(self));
  return 0;
}

}  // namespace

TEST_CASE("a wrong argument count names the signature") {
  CHECK_RAISES(Call("ffi.FunctionRemoveGlobal", {}), "TypeError",
               "Mismatched number of arguments when calling: `ffi.FunctionRemoveGlobal(0: str) -> "
               "bool`. Expected 1 but got 0 arguments");
  CHECK_RAISES(Call("ffi.ModuleGetFunction", {None()}), "TypeError",
               "Mismatched number of arguments when calling: `ffi.ModuleGetFunction(0: "
               "ffi.Module, 1: str, 2: bool) -> Optional<ffi.Function>`. Expected 3 but got 1 "
               "arguments");
  CHECK_RAISES(Call("ffi.GetRegisteredTypeKeys", {Int(1), Int(2)}), "TypeError",
               "Expected 0 but got 2 arguments");
}

TEST_CASE("a wrong type names argument, expected type and value") {
  CHECK_RAISES(Call("ffi.FunctionRemoveGlobal", {Int(1)}), "TypeError",
               "Mismatched type on argument #0 when calling: `ffi.FunctionRemoveGlobal(0: str) -> "
               "bool`. Expected `str` but got `int`");
  CHECK_RAISES(Call("ffi.String", {None()}), "TypeError", "Expected `str` but got `None`");
  CHECK_RAISES(Call("ffi.Bytes", {RawStr("text")}), "TypeError",
               "Expected `bytes` but got `const char*`");
  CHECK_RAISES(Call("ffi.ModuleGetKind", {None()}), "TypeError",
               "Expected `ffi.Module` but got `None`");
  CHECK_RAISES(Call("ffi.FunctionFromExternC", {None(), Int(1), None()}), "TypeError",
               "argument #1");
  TVMFFIObjectHandle opaque = NewOpaque(nullptr, nullptr);
  CHECK_RAISES(Call("ffi.ModuleGetKind", {ViewOf(opaque)}), "TypeError",
               "Expected `ffi.Module` but got `ffi.OpaquePyObject`");
  CHECK_EQ(StrongCount(opaque), 1u);
  TVMFFIObjectDecRef(opaque);
}

TEST_CASE("an argument of an unregistered type is named in the error") {
  for (const char* name : {"ffi.String", "ffi.ArraySize", "ffi.MapSize", "ffi.json.Parse",
                           "ffi.ModuleLoadFromFile", "ffi.FunctionFromExternC"}) {
    CHECK_RAISES(Call(name, {PlainAny(-1, 0), None(), None()}), "TypeError", "");
    CHECK_RAISES(Call(name, {PlainAny(40, 0)}), "TypeError", "");
  }
  CHECK_RAISES(Call("ffi.ArraySize", {PlainAny(40, 0)}), "TypeError",
               "Expected `ffi.Array` but got `<unregistered type 40>`");
  TVMFFIObject object{};  // with the type index of another runtime
  object.combined_ref_count = (uint64_t{1} << 32) | 1;
  object.type_index = 2'000'000'000;
  TVMFFIAny value = ViewOf(&object);
  value.type_index = object.type_index;
  CHECK_RAISES(Call("ffi.MapSize", {value}), "TypeError", "<unregistered type 2000000000>");
}

TEST_CASE("the string function accepts every form of string") {
  TVMFFIAny heap = Ask("ffi.String", {RawStr("longer than seven")});
  CHECK_EQ(heap.type_index, 65);
  CHECK_EQ(TextOf(heap), "longer than seven");
  TVMFFIAny again = Ask("ffi.String", {heap});
  CHECK_EQ(TakeText(again), "longer than seven");
  Release(heap);
  TVMFFIAny small = Ask("ffi.String", {RawStr("abc")});
  CHECK(SameBytes(Ask("ffi.String", {small}), small));
}

TEST_CASE("the bytes function accepts every form of bytes") {
  TVMFFIByteArray content = Bytes(std::string_view("\0\1\2", 3));
  TVMFFIAny small = Ask("ffi.Bytes", {Pointer(kTVMFFIByteArrayPtr, &content)});
  TVMFFIAny expected = PlainAny(12, 0x020100);
  expected.small_str_len = 3;
  CHECK(SameBytes(small, expected));
  CHECK(SameBytes(Ask("ffi.Bytes", {small}), expected));
  content = Bytes("longer than seven");
  TVMFFIAny heap = Ask("ffi.Bytes", {Pointer(kTVMFFIByteArrayPtr, &content)});
  CHECK_EQ(TakeText(Ask("ffi.Bytes", {heap})), "longer than seven");
  Release(heap);
}

TEST_CASE("a shape holds its extents inline") {
  TVMFFIAny shape = Ask("ffi.Shape", {Int(2), Bool(true), Int(INT64_MAX)});
  CHECK_EQ(shape.type_index, 69);
  const TVMFFIShapeCell* cell = TVMFFIShapeGetCellPtr(shape.v_obj);
  CHECK_EQ(cell->size, 3u);
  CHECK(reinterpret_cast<const char*>(cell->data) == reinterpret_cast<char*>(shape.v_obj) + 40);
  CHECK_EQ(cell->data[0], 2);
  CHECK_EQ(cell->data[1], 1);
  CHECK_EQ(cell->data[2], INT64_MAX);
  Release(shape);
  TVMFFIAny empty = Ask("ffi.Shape", {});
  CHECK_EQ(TVMFFIShapeGetCellPtr(empty.v_obj)->size, 0u);
  Release(empty);
}

TEST_CASE("shape rejects values other than ints") {
  CHECK_RAISES(Call("ffi.Shape", {Int(2), RawStr("3")}), "ValueError", "extent 1");
  CHECK_RAISES(Call("ffi.Shape", {PlainAny(kTVMFFIFloat, 0)}), "ValueError", "extent 0");
}

TEST_CASE("sentinels are two objects per process") {
  TVMFFIAny missing = Ask("ffi.GetInvalidObject", {});
  TVMFFIAny keywords = Ask("ffi.GetKwargsObject", {});
  TVMFFIAny missing_again = Ask("ffi.GetInvalidObject", {});
  CHECK_EQ(missing.type_index, 64);
  CHECK_EQ(keywords.type_index, 64);
  CHECK(SameBytes(missing, missing_again));
  CHECK(missing.v_obj != keywords.v_obj);
  Release(missing);
  Release(keywords);
  Release(missing_again);
  TVMFFIAny alive = Ask("ffi.GetInvalidObject", {});
  CHECK(SameBytes(alive, missing));
  Release(alive);
}

TEST_CASE("a function from pointers behaves like the C function") {
  static int deletions;
  deletions = 0;
  int answer = 9;
  auto deleter = +[](void*) { ++deletions; };
  TVMFFIAny function =
      Ask("ffi.FunctionFromExternC", {Pointer(kTVMFFIOpaquePtr, &answer),
                                      Pointer(kTVMFFIOpaquePtr, reinterpret_cast<void*>(&Answer)),
                                      Pointer(kTVMFFIOpaquePtr, reinterpret_cast<void*>(deleter))});
  TVMFFIAny result = None();
  CHECK_EQ(TVMFFIFunctionCall(function.v_obj, nullptr, 0, &result), 0);
  CHECK(SameBytes(result, Int(9)));
  Release(function);
  CHECK_EQ(deletions, 1);
  CHECK_RAISES(Call("ffi.FunctionFromExternC", {None(), None(), None()}), "ValueError",
               "safe_call is NULL");
}

TEST_CASE("metadata of an unknown function is a runtime error") {
  CHECK_RAISES(Call("ffi.GetGlobalFuncMetadata", {RawStr("no.such.function")}), "RuntimeError",
               "Global Function is not found: no.such.function");
}
