// SPDX-License-Identifier: Apache-2.0
// Two copies of a library in one process: the second one registers nothing, warns once, and works.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <string>

#include "child_process.h"
#include "raised.h"
#include "values.h"

namespace {

std::string Warning(const std::string& second, const std::string& first) {
  return "warning: " + second +
         " registers the global function `test.twice.address`, which is "
         "already registered by " +
         first +
         "; the first registration stays in effect, also for "
         "further duplicates\n";
}

void Open(const char* path) { CHECK(dlopen(path, RTLD_NOW | RTLD_LOCAL) != nullptr); }

int64_t CallInt(const char* name) {
  TVMFFIAny result = None();
  CHECK_EQ(CallGlobal(name, {}, &result), 0);
  CHECK_EQ(result.type_index, 1);
  return result.v_int64;
}

const TVMFFITypeInfo* CounterInfo() {
  TVMFFIByteArray key = Bytes("test.twice.Counter");
  int32_t index = 0;
  CHECK_EQ(TVMFFITypeKeyToIndex(&key, &index), 0);
  return TVMFFIGetTypeInfo(index);
}

}  // namespace

TEST_CASE("the second copy is loaded with one warning") {
  ChildEnd end = RunInChild([] {
    Open(FIRST_COPY);
    int64_t address = CallInt("test.twice.address");
    Open(SECOND_COPY);
    CHECK_EQ(CallInt("test.twice.address"), address);
  });
  CHECK_EQ(end.stderr_text, Warning(SECOND_COPY, FIRST_COPY));
  CHECK_EQ(end.exit_status, 0);
}

TEST_CASE("the type stays as the first copy registered it") {
  ChildEnd end = RunInChild([] {
    Open(SECOND_COPY);
    const TVMFFITypeInfo* info = CounterInfo();
    CHECK_EQ(info->num_fields, 1);
    CHECK_EQ(info->num_methods, 1);
    const TVMFFITypeMetadata* metadata = info->metadata;
    auto* creator = metadata->creator;
    Open(FIRST_COPY);
    CHECK_EQ(info->num_fields, 1);
    CHECK_EQ(info->num_methods, 1);
    CHECK((info->metadata == metadata && metadata->creator == creator));
  });
  CHECK_EQ(end.stderr_text, Warning(FIRST_COPY, SECOND_COPY));
  CHECK_EQ(end.exit_status, 0);
}

TEST_CASE("copies can be loaded as modules") {
  ChildEnd end = RunInChild([] {
    for (const char* path : {FIRST_COPY, SECOND_COPY, SECOND_COPY}) {
      TVMFFIAny module = None();
      CHECK_EQ(CallGlobal("ffi.ModuleLoadFromFile", {RawStr(path)}, &module), 0);
    }
    CHECK_EQ(CallInt("test.twice.second"), 2);
  });
  CHECK_EQ(end.stderr_text, Warning(SECOND_COPY, FIRST_COPY));
}

TEST_CASE("registration errors remain errors for direct callers") {
  ChildEnd end = RunInChild([] {
    Open(FIRST_COPY);
    const TVMFFITypeInfo* info = CounterInfo();
    TVMFFIByteArray name = Bytes("test.twice.second"), attribute = Bytes("__test_level__");
    TVMFFIObjectHandle function = GetGlobal("test.twice.second");
    CHECK_RAISES(TVMFFIFunctionSetGlobal(&name, function, 0), "RuntimeError",
                 "Global Function `test.twice.second` is already registered");
    CHECK_RAISES(TVMFFITypeRegisterMetadata(info->type_index, info->metadata), "RuntimeError",
                 "type `test.twice.Counter` already has metadata");
    TVMFFIFieldInfo field = info->fields[0];
    CHECK_RAISES(TVMFFITypeRegisterField(info->type_index, &field), "InternalError",
                 "type `test.twice.Counter` already has a field `count`");
    TVMFFIAny level = Int(5);
    CHECK_RAISES(TVMFFITypeRegisterAttr(info->type_index, &attribute, &level), "RuntimeError",
                 "TypeAttr `__test_level__` is already registered");
    TVMFFIObjectDecRef(function);
  });
  CHECK_EQ(end.stderr_text, "");
  CHECK_EQ(end.exit_status, 0);
}
