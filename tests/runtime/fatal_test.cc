// SPDX-License-Identifier: Apache-2.0
// Functions that cannot report failure end the process with status 255 and a message.
#include <doctest/doctest.h>

#include <csignal>
#include <string>

#include "child_process.h"
#include "raised.h"
#include "values.h"

namespace {

int32_t Register(const char* key, int32_t static_index, int32_t depth, int32_t child_slots,
                 int32_t can_overflow, int32_t parent) {
  TVMFFIByteArray bytes = Bytes(key);
  return TVMFFITypeGetOrAllocIndex(&bytes, static_index, depth, child_slots, can_overflow, parent);
}

template <typename Body>
void CheckEndsWith255(const char* function, const char* message_part, Body body) {
  ChildEnd end = RunInChild(body);
  CHECK_EQ(end.exit_status, 255);
  std::string first_line = std::string("Exception caught during ") + function + ":\n";
  CHECK_EQ(end.stderr_text.substr(0, first_line.size()), first_line);
  CHECK_MESSAGE(end.stderr_text.find(message_part) != std::string::npos,
                "\"" << end.stderr_text << "\" lacks \"" << message_part << "\"");
}

}  // namespace

TEST_CASE("contradictory type arguments end the process") {
  auto check = [](const char* message, int32_t static_index, int32_t depth, int32_t child_slots,
                  int32_t parent) {
    CheckEndsWith255("TVMFFITypeGetOrAllocIndex", message, [=] {
      Register("test.Contradicting", static_index, depth, child_slots, 1, parent);
    });
  };
  const std::string more =
      ", one more than the depth of the parent type (0 without a parent), got ";
  check(("expected depth 1" + more + "2").c_str(), -1, 2, 0, kTVMFFIObject);
  check(("expected depth 1" + more + "0").c_str(), -1, 0, 0, kTVMFFIObject);
  check(("expected depth 0" + more + "1").c_str(), -1, 1, 0, -1);
  check("parent", -1, 1, 0, 100000);                    // unregistered parent
  check("needs a parent", -1, 0, 0, -1);                // a dynamic type as the parent
  check("static index 70", 70, 1, 0, kTVMFFIObject);    // not free
  check("static index 128", 128, 1, 0, kTVMFFIObject);  // in the range of dynamic types
  check("greater than the index of the parent type", 20, 1, 0, kTVMFFIObject);
  check("child_slots", -1, 1, -1, kTVMFFIObject);
  check("child_slots", -1, 1, INT32_MAX, kTVMFFIObject);  // adding 1 overflowed before
  check("child_slots", -1, 1, INT32_MAX - 1, kTVMFFIObject);
  check("full", -1, 1, (1 << 22) - 100, kTVMFFIObject);
  check("18 child slots after", 110, 1, 18, kTVMFFIObject);  // 128 is the index of another type
}

TEST_CASE("a child beyond the slots of a type that cannot overflow ends the process") {
  CheckEndsWith255("TVMFFITypeGetOrAllocIndex", "no slot left", [] {
    int32_t parent = Register("test.Closed", -1, 1, 1, 0, kTVMFFIObject);
    Register("test.Closed.first", -1, 2, 0, 1, parent);
    Register("test.Closed.second", -1, 2, 0, 1, parent);
  });
  CheckEndsWith255("TVMFFITypeGetOrAllocIndex", "no slot left", [] {
    // The child allows overflow of its reserved indices, but its parent does not.
    int32_t parent = Register("test.Closed", -1, 1, 1, 0, kTVMFFIObject);
    int32_t child = Register("test.Closed.child", -1, 2, 0, 1, parent);
    Register("test.Closed.grandchild", -1, 3, 0, 1, child);
  });
  CheckEndsWith255("TVMFFITypeGetOrAllocIndex", "no slot left", [] {
    Register("test.ChildOfArray", -1, 2, 0, 1, kTVMFFIArray);  // built-in types have no child slots
  });
}

TEST_CASE("a failed registration leaves nothing behind") {
  // The failure is fatal in C and ends the child process, so an atexit handler of the child checks
  // the table.
  ChildEnd end = RunInChild([] {
    std::atexit([] {
      int32_t index = 0;
      TVMFFIByteArray key = Bytes("test.Contradicting");
      _exit(TVMFFITypeKeyToIndex(&key, &index) == -1 ? 7 : 8);
    });
    Register("test.Contradicting", -1, 5, 0, 1, kTVMFFIObject);
  });
  CHECK_EQ(end.exit_status, 7);
}

TEST_CASE("a null error kind aborts") {
  ChildEnd end = RunInChild([] { TVMFFIErrorSetRaisedFromCStr(nullptr, "m"); });
  CHECK_EQ(end.signal, SIGABRT);
  CHECK(end.stderr_text.find("kind is NULL") != std::string::npos);
  const char* parts[] = {"m"};
  end = RunInChild([&] { TVMFFIErrorSetRaisedFromCStrParts(nullptr, parts, 1); });
  CHECK_EQ(end.signal, SIGABRT);
}

TEST_CASE("a child without an error exits normally") {
  ChildEnd end = RunInChild([] { Register("test.Fine", -1, 1, 0, 1, kTVMFFIObject); });
  CHECK_EQ(end.exit_status, 0);
  CHECK_EQ(end.stderr_text, "");
}
