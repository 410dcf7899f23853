// SPDX-License-Identifier: Apache-2.0
// The table of global functions, also under concurrent access.
#include <doctest/doctest.h>

#include <atomic>
#include <set>
#include <string>

#include "child_process.h"
#include "raised.h"
#include "threads.h"
#include "values.h"

namespace {

int AnswerSelf(void* self, const TVMFFIAny*, int32_t, TVMFFIAny* result) {
  *result = Int(*static_cast<int*>(self));
  return 0;
}

TVMFFIObjectHandle NewFunction(int* answer, void (*deleter)(void*) = nullptr) {
  TVMFFIObjectHandle function = nullptr;
  CHECK_EQ(TVMFFIFunctionCreate(answer, &AnswerSelf, deleter, &function), 0);
  return function;
}

int Set(std::string_view name, TVMFFIObjectHandle function, int allow_override) {
  TVMFFIByteArray bytes = Bytes(name);
  return TVMFFIFunctionSetGlobal(&bytes, function, allow_override);
}

bool Remove(const char* name) {
  TVMFFIAny removed;
  CHECK_EQ(CallGlobal("ffi.FunctionRemoveGlobal", {RawStr(name)}, &removed), 0);
  CHECK_EQ(removed.type_index, kTVMFFIBool);
  return removed.v_int64 != 0;
}

TVMFFIMethodInfo MethodInfo(const char* name, TVMFFIObjectHandle function) {
  TVMFFIMethodInfo info = {};
  info.name = Bytes(name);
  info.doc = Bytes("documentation");
  info.metadata = Bytes("{\"note\":1}");
  info.method = ViewOf(function);
  return info;
}

std::set<std::string> Names() {
  TVMFFIAny lister;
  CHECK_EQ(CallGlobal("ffi.FunctionListGlobalNamesFunctor", {}, &lister), 0);
  TVMFFIAny arg = Int(-1), count = None();
  CHECK_EQ(TVMFFIFunctionCall(lister.v_obj, &arg, 1, &count), 0);
  std::set<std::string> names;
  for (int64_t i = 0; i < count.v_int64; ++i) {
    TVMFFIAny index = Int(i), name = None();
    CHECK_EQ(TVMFFIFunctionCall(lister.v_obj, &index, 1, &name), 0);
    names.insert(TakeText(name));
  }
  CHECK_EQ(names.size(), count.v_int64);
  TVMFFIAny index = count, name = None();
  CHECK_RAISES(TVMFFIFunctionCall(lister.v_obj, &index, 1, &name), "IndexError",
               ", the number of names, got ");
  Release(lister);
  return names;
}

}  // namespace

TEST_CASE("a missing name is a result, not an error") {
  int unrelated;
  TVMFFIObjectHandle function = &unrelated;
  TVMFFIByteArray name = Bytes("test.missing");
  CHECK_EQ(TVMFFIFunctionGetGlobal(&name, &function), 0);
  CHECK(function == nullptr);
  CHECK(!IsErrorPending());
}

TEST_CASE("table and reader each own a reference") {
  int one = 1;
  TVMFFIObjectHandle function = NewFunction(&one);
  CHECK_EQ(Set("test.references", function, 0), 0);
  CHECK_EQ(StrongCount(function), 2u);
  TVMFFIObjectHandle found = GetGlobal("test.references");
  CHECK_EQ(found, function);
  CHECK_EQ(StrongCount(function), 3u);
  TVMFFIObjectDecRef(found);
  CHECK(Remove("test.references"));
  CHECK_EQ(StrongCount(function), 1u);
  TVMFFIObjectDecRef(function);
}

TEST_CASE("a name that is not UTF-8 is refused") {
  // Regression: such a name was registered, and host languages could not decode the list of names.
  int one = 1;
  TVMFFIObjectHandle function = NewFunction(&one);
  struct Case {
    std::string_view name;
    const char* message;
  };
  using namespace std::literals;
  const Case cases[] = {
      {"a\xff"sv, "global function `a\\xff`: expected a name in UTF-8, got byte 1"},
      {"ab\xc3"sv, "`ab\\xc3`: expected a name in UTF-8, got byte 2"},
      {"\x80"sv, "got byte 0"},                       // a continuation without a lead
      {"\xc0\x80"sv, "got byte 0"},                   // NUL in two bytes
      {"\xe0\x9f\xbf"sv, "got byte 0"},               // three bytes for a code point of two
      {"\xf0\x8f\xbf\xbf"sv, "got byte 0"},           // four bytes for a code point of three
      {"\xed\xa0\x80"sv, "got byte 0"},               // a surrogate
      {"\xf4\x90\x80\x80"sv, "got byte 0"},           // beyond U+10FFFF
      {"\xe2\x82\x28"sv, "got byte 0"},               // an ASCII character as a continuation
      {"\xc3\xa9.\xe2\x82\xac\xf5"sv, "got byte 6"},  // the lead of no code point
  };
  for (const Case& c : cases) {
    CHECK_RAISES(Set(c.name, function, 0), "ValueError", c.message);
    TVMFFIMethodInfo info = MethodInfo("", function);
    info.name = Bytes(c.name);
    CHECK_RAISES(TVMFFIFunctionSetGlobalFromMethodInfo(&info, 1), "ValueError", c.message);
    CHECK(GetGlobal(c.name) == nullptr);
  }
  for (std::string_view name :
       {"\xed\x9f\xbf"sv, "\xee\x80\x80"sv, "\xf4\x8f\xbf\xbf"sv, "\x7f"sv}) {
    CHECK_EQ(Set(name, function, 0), 0);
    CHECK(Remove(std::string(name).c_str()));
  }
  TVMFFIObjectDecRef(function);
}

TEST_CASE("a name is copied and may contain NUL and any UTF-8") {
  int one = 1;
  TVMFFIObjectHandle function = NewFunction(&one);
  std::string name("test.\0odd \xc3\xa9", 12);
  CHECK_EQ(Set(name, function, 0), 0);
  std::string same = name;
  name.assign(name.size(), '?');
  TVMFFIObjectHandle found = GetGlobal(same);
  CHECK_EQ(found, function);
  TVMFFIObjectDecRef(found);
  CHECK(GetGlobal("test.") == nullptr);
  TVMFFIObjectDecRef(function);
}

TEST_CASE("an existing name needs permission to override") {
  int one = 1, two = 2;
  TVMFFIObjectHandle first = NewFunction(&one), second = NewFunction(&two);
  CHECK_EQ(Set("test.override", first, 0), 0);
  CHECK_RAISES(Set("test.override", second, 0), "RuntimeError",
               "Global Function `test.override` is already registered");
  CHECK_EQ(StrongCount(first), 2u);
  CHECK_EQ(StrongCount(second), 1u);
  CHECK_EQ(Set("test.override", second, 1), 0);
  CHECK_EQ(StrongCount(first), 1u);
  TVMFFIAny answer;
  CHECK_EQ(CallGlobal("test.override", {}, &answer), 0);
  CHECK(SameBytes(answer, Int(2)));
  CHECK(Remove("test.override"));
  TVMFFIObjectDecRef(first);
  TVMFFIObjectDecRef(second);
}

TEST_CASE("removal returns whether the name existed") {
  int one = 1;
  TVMFFIObjectHandle function = NewFunction(&one);
  CHECK(!Remove("test.removal"));
  CHECK_EQ(Set("test.removal", function, 0), 0);
  CHECK(Remove("test.removal"));
  CHECK(!Remove("test.removal"));
  CHECK(GetGlobal("test.removal") == nullptr);
  CHECK_EQ(Set("test.removal", function, 0), 0);  // free again
  CHECK(Remove("test.removal"));
  TVMFFIObjectDecRef(function);
}

TEST_CASE("a function with other references outlives its removal") {
  static int deletions;
  deletions = 0;
  int answer = 5;
  TVMFFIObjectHandle function = NewFunction(&answer, [](void*) { ++deletions; });
  CHECK_EQ(Set("test.held", function, 0), 0);
  TVMFFIObjectDecRef(function);
  TVMFFIObjectHandle held = GetGlobal("test.held");
  CHECK(Remove("test.held"));
  CHECK_EQ(deletions, 0);
  TVMFFIAny result = None();
  CHECK_EQ(TVMFFIFunctionCall(held, nullptr, 0, &result), 0);
  CHECK(SameBytes(result, Int(5)));
  TVMFFIObjectDecRef(held);
  CHECK_EQ(deletions, 1);
}

TEST_CASE("a deleter may use the table from which its function is removed") {
  static bool found_itself;
  found_itself = true;
  int one = 1;
  TVMFFIObjectHandle function = NewFunction(&one, [](void*) {
    found_itself = GetGlobal("test.reentrant") != nullptr;
    Remove("test.reentrant.other");
  });
  CHECK_EQ(Set("test.reentrant", function, 0), 0);
  TVMFFIObjectDecRef(function);
  CHECK(Remove("test.reentrant"));
  CHECK(!found_itself);
}

TEST_CASE("method info includes the metadata") {
  int one = 1;
  TVMFFIObjectHandle function = NewFunction(&one);
  TVMFFIMethodInfo info = MethodInfo("test.method_info", function);
  CHECK_EQ(TVMFFIFunctionSetGlobalFromMethodInfo(&info, 0), 0);
  CHECK_EQ(StrongCount(function), 2u);
  TVMFFIAny metadata;
  CHECK_EQ(CallGlobal("ffi.GetGlobalFuncMetadata", {RawStr("test.method_info")}, &metadata), 0);
  CHECK_EQ(TakeText(metadata), "{\"note\":1}");
  CHECK_EQ(Set("test.method_info", function, 1), 0);
  CHECK_EQ(CallGlobal("ffi.GetGlobalFuncMetadata", {RawStr("test.method_info")}, &metadata), 0);
  CHECK_EQ(TakeText(metadata), "");  // a registration without metadata has none
  CHECK(Remove("test.method_info"));
  CHECK_RAISES(CallGlobal("ffi.GetGlobalFuncMetadata", {RawStr("test.method_info")}, &metadata),
               "RuntimeError", "Global Function is not found: test.method_info");
  TVMFFIObjectDecRef(function);
}

TEST_CASE("method info of an existing name is also reported on stderr") {
  ChildEnd end = RunInChild([] {
    int one = 1;
    TVMFFIObjectHandle function = NewFunction(&one);
    TVMFFIMethodInfo info = MethodInfo("test.method_info_twice", function);
    CHECK_EQ(TVMFFIFunctionSetGlobalFromMethodInfo(&info, 0), 0);
    CHECK_RAISES(TVMFFIFunctionSetGlobalFromMethodInfo(&info, 0), "RuntimeError",
                 "Global Function `test.method_info_twice` is already registered");
    CHECK_EQ(TVMFFIFunctionSetGlobalFromMethodInfo(&info, 1), 0);
    TVMFFIObjectDecRef(function);
  });
  CHECK_EQ(end.exit_status, 0);
  CHECK_EQ(end.stderr_text,
           "Global Function `test.method_info_twice` is already registered, possible causes:\n"
           "- two registrations of this name, in one library or in two\n"
           "- the same library, loaded from two files\n"
           "Remove one registration, or register one function under another name.\n");
}

TEST_CASE("names are listed while they are registered") {
  int one = 1;
  TVMFFIObjectHandle function = NewFunction(&one);
  CHECK_EQ(Set("test.listed", function, 0), 0);
  CHECK_EQ(Names().count("test.listed"), 1u);
  CHECK_EQ(Names().count("ffi.FunctionListGlobalNamesFunctor"), 1u);
  CHECK(Remove("test.listed"));
  CHECK_EQ(Names().count("test.listed"), 0u);
  TVMFFIObjectDecRef(function);
}

TEST_CASE("threads get, override and remove the same name") {
  static std::atomic<int> living;
  living = 0;
  struct Answer {
    int value = 3;
    Answer() { living.fetch_add(1); }
    ~Answer() { living.fetch_sub(1); }
  };
  auto new_function = [] {
    return NewFunction(&(new Answer())->value,
                       [](void* self) { delete static_cast<Answer*>(self); });
  };
  std::atomic<int> calls{0};
  RunTogether(8, [&](int i) {  // every thread makes all three calls
    for (int round = 0; round < 5000; ++round) {
      if (round % 8 == i) {
        TVMFFIObjectHandle function = new_function();
        CHECK_EQ(Set("test.threads", function, 1), 0);
        TVMFFIObjectDecRef(function);
      } else if (round % 64 == i) {
        Remove("test.threads");
      } else if (TVMFFIObjectHandle function = GetGlobal("test.threads")) {
        TVMFFIAny result = None();
        CHECK_EQ(TVMFFIFunctionCall(function, nullptr, 0, &result), 0);
        CHECK(SameBytes(result, Int(3)));
        calls.fetch_add(1);
        TVMFFIObjectDecRef(function);
      }
    }
  });
  CHECK(calls.load() > 0);
  Remove("test.threads");
  CHECK_EQ(living.load(), 0);
}

TEST_CASE("threads register different names") {
  static int answers[8];
  RunTogether(8, [](int i) {
    for (int round = 0; round < 50; ++round) {
      std::string name = "test.many." + std::to_string(i) + "." + std::to_string(round);
      TVMFFIObjectHandle function = NewFunction(&answers[i]);
      CHECK_EQ(Set(name, function, 0), 0);
      TVMFFIObjectHandle found = GetGlobal(name);
      CHECK_EQ(found, function);
      TVMFFIObjectDecRef(found);
      TVMFFIObjectDecRef(function);
    }
  });
  CHECK(GetGlobal("test.many.7.50") == nullptr);
  TVMFFIObjectHandle found = GetGlobal("test.many.7.49");
  CHECK(found != nullptr);
  TVMFFIObjectDecRef(found);
}
