// SPDX-License-Identifier: Apache-2.0
// The load-time check of a library's symbols, before its initialisers run.  The libraries are parts
// of needing_library.c; their initialisers print a line to stderr.
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "child_process.h"
#include "raised.h"
#include "values.h"

namespace {

std::string Path(const std::string& name) { return LIBRARY_FOLDER "/" + name + ".so"; }

int Load(const std::string& path, TVMFFIAny* module) {
  return CallGlobal("ffi.ModuleLoadFromFile", {RawStr(path.c_str())}, module);
}

// Loads the library in a child process and calls its function.
ChildEnd Use(const std::string& name, int64_t expected) {
  return RunInChild([&] {
    TVMFFIAny module = None(), function = None(), result = None();
    CHECK_EQ(Load(Path(name), &module), 0);
    CHECK_EQ(CallGlobal("ffi.ModuleGetFunction", {module, RawStr("use"), Bool(false)}, &function),
             0);
    CHECK_EQ(TVMFFIFunctionCall(function.v_obj, nullptr, 0, &result), 0);
    CHECK(SameBytes(result, Int(expected)));
  });
}

ChildEnd Refused(const std::string& path, const std::string& message) {
  std::string whole = "Failed to load dynamic shared library " + path + ": " + message;
  return RunInChild([&] {
    TVMFFIAny module = None();
    CHECK_RAISES(Load(path, &module), "InternalError", whole.c_str());
  });
}

}  // namespace

TEST_CASE("a missing function is refused before any initialiser runs") {
  ChildEnd end = Refused(Path("needing_later"), "it needs `TVMFFIOfALaterRelease");
  CHECK_EQ(end.stderr_text, "");
  CHECK_EQ(end.exit_status, 0);
}

// The hash table of the library is empty and does not determine the number of symbols.
TEST_CASE("a library without exports is checked as well") {
  ChildEnd end = Refused(Path("needing_later_hidden"), "it needs `TVMFFIOfALaterRelease");
  CHECK_EQ(end.stderr_text, "");
}

TEST_CASE("the error names a fix") {
  ChildEnd end = Refused(Path("needing_later_cpp"),
                         "it needs `tvm::ffi::Later()` (_ZN3tvm3ffi5LaterEv), which neither this "
                         "runtime (TVM FFI ABI 0.1.16) nor any library loaded with it provides; "
                         "build it with the headers of this runtime, link it to the library that "
                         "defines the symbol, or update the runtime");
  CHECK_EQ(end.stderr_text, "");
}

TEST_CASE("missing data is refused") {
  ChildEnd end = Refused(Path("needing_later_data"),
                         "it needs `vtable for tvm::ffi::LaterObj` (_ZTVN3tvm3ffi8LaterObjE)");
  CHECK_EQ(end.stderr_text, "");
}

TEST_CASE("a dependency of the library may define the symbol") {
  ChildEnd end = Use("needing_defined_elsewhere", 5);
  CHECK_EQ(end.stderr_text, "initialiser ran\ninitialiser ran\n");
}

TEST_CASE("a weak symbol may be missing") {
  CHECK_EQ(Use("needing_weak", 7).stderr_text, "initialiser ran\n");
}

// A program ended at the first call of the function, without an earlier message.  The warning
// precedes initialisers, because they may call the function.
TEST_CASE("a missing function of a third-party library is reported by a warning") {
  std::string text = Use("needing_foreign", 9).stderr_text;
  CHECK_EQ(text, "warning: " + Path("needing_foreign") +
                     " is loaded, but it needs `no_such_function`, which no library loaded with "
                     "it defines; a call of this function ends the process: link the library that "
                     "defines it\ninitialiser ran\n");
}

// The loader would map the missing part of the file, and crash when it reads this part.
TEST_CASE("an incomplete file is refused") {
  std::ifstream whole(Path("needing_weak"), std::ios::binary);
  std::stringstream content;
  content << whole.rdbuf();
  std::string path = Path("incomplete");
  std::ofstream(path, std::ios::binary) << content.str().substr(0, 4096);
  ChildEnd end = Refused(path, "the file is incomplete: expected at least ");
  CHECK_EQ(end.signal, 0);
  CHECK_EQ(end.stderr_text, "");
  unlink(path.c_str());
}
