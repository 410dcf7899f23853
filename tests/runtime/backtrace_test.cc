// SPDX-License-Identifier: Apache-2.0
// Text of native backtraces.  The program exports its functions, so that backtraces name them.
#include <doctest/doctest.h>

#include <cstdlib>
#include <regex>
#include <string>
#include <vector>

#include "child_process.h"
#include "raised.h"
#include "threads.h"
#include "values.h"

// Functions with known names on the stack, which are not inlined into their callers.
#define FRAME extern "C" __attribute__((noinline, visibility("default")))

static std::string captured;

static std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t start = 0; start < text.size();) {
    size_t end = text.find('\n', start);
    lines.push_back(text.substr(start, end - start));
    start = end == std::string::npos ? text.size() : end + 1;
  }
  return lines;
}

FRAME void InnerFrame(int cross_boundary) {
  captured = Text(*TVMFFIBacktrace(nullptr, 0, nullptr, cross_boundary));
}
FRAME void OuterFrame(int cross_boundary) {
  InnerFrame(cross_boundary);
  captured += "";  // keeps this frame, because it is no tail call
}
FRAME void NamedFrame() { captured = Text(*TVMFFIBacktrace("model.cc", 42, "NamedByCaller", 0)); }
FRAME void CallerOfNamedFrame() {
  NamedFrame();
  captured += "";
}
FRAME void RaisingFrame() {
  TVMFFIErrorSetRaisedFromCStr("ValueError", "m");
  captured += "";
}
// Named like functions of a Python interpreter; the Python traceback continues at such frames.
FRAME void PyObject_TestBoundary(int cross_boundary) {
  OuterFrame(cross_boundary);
  captured += "";
}
FRAME void FrameBeyondTheBoundary(int cross_boundary) {
  PyObject_TestBoundary(cross_boundary);
  captured += "";
}

static size_t LineOf(const std::vector<std::string>& lines, const std::string& function) {
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string end = ", in " + function;
    if (lines[i].size() > end.size() && lines[i].substr(lines[i].size() - end.size()) == end) {
      return i;
    }
  }
  return lines.size();
}

TEST_CASE("every line has the documented form") {
  OuterFrame(0);
  CHECK(!captured.empty());
  CHECK_EQ(captured.back(), '\n');
  const std::regex form("  File \"[^\"]+\", line [0-9]+, in .+");
  for (const std::string& line : Lines(captured)) CHECK_MESSAGE(std::regex_match(line, form), line);
}

TEST_CASE("most recent call comes first") {
  OuterFrame(0);
  std::vector<std::string> lines = Lines(captured);
  CHECK_EQ(LineOf(lines, "InnerFrame"), 0u);
  CHECK_EQ(LineOf(lines, "OuterFrame"), 1u);
}

TEST_CASE("a frame given by name comes first and replaces the caller's frame") {
  CallerOfNamedFrame();
  std::vector<std::string> lines = Lines(captured);
  CHECK_EQ(lines[0], "  File \"model.cc\", line 42, in NamedByCaller");
  CHECK_EQ(LineOf(lines, "NamedFrame"), lines.size());
  CHECK_EQ(LineOf(lines, "CallerOfNamedFrame"), 1u);
}

TEST_CASE("internal frames of the library are omitted") {
  RaisingFrame();
  RaisedError raised = TakeRaised();
  CHECK_EQ(LineOf(Lines(raised.backtrace), "RaisingFrame"), 0u);
  CHECK_EQ(raised.backtrace.find("TVMFFI"), std::string::npos);
  CHECK_EQ(raised.backtrace.find("tvm::ffi::"), std::string::npos);
}

TEST_CASE("the walk ends at the FFI boundary unless asked to cross it") {
  FrameBeyondTheBoundary(0);
  std::vector<std::string> lines = Lines(captured);
  CHECK_EQ(LineOf(lines, "OuterFrame"), 1u);
  CHECK_EQ(lines.size(), 2u);
  FrameBeyondTheBoundary(1);
  lines = Lines(captured);
  CHECK_EQ(LineOf(lines, "OuterFrame"), 1u);
  CHECK_EQ(LineOf(lines, "FrameBeyondTheBoundary"), 2u);  // the boundary itself is not shown
}

TEST_CASE("the text is per thread and overwritten by the next call") {
  const TVMFFIByteArray* first = TVMFFIBacktrace("a.cc", 1, "a", 0);
  const TVMFFIByteArray* second = TVMFFIBacktrace("b.cc", 2, "b", 0);
  CHECK(first == second);
  CHECK_EQ(Lines(Text(*second))[0], "  File \"b.cc\", line 2, in b");
  RunTogether(4, [](int i) {
    for (int round = 0; round < 20; ++round) {
      std::string text = Text(*TVMFFIBacktrace("thread.cc", i, "t", 0));
      std::string first = "  File \"thread.cc\", line " + std::to_string(i) + ", in t\n";
      CHECK_EQ(text.substr(0, first.size()), first);
    }
  });
}

TEST_CASE("the frame limit comes from the environment") {
  // The process reads the limit only once, so the test needs a child process that has not read the
  // limit yet.
  static const char* program = "/proc/self/exe";
  ChildEnd end = RunInChild([] {
    setenv("TVM_TRACEBACK_LIMIT", "1", 1);
    execl(program, program, "--minimal", "--test-case=limit of one frame", nullptr);
    _exit(127);
  });
  CHECK_EQ(end.exit_status, 0);
  CHECK_EQ(end.stderr_text, "");
}

TEST_CASE("limit of one frame") {
  const char* limit = std::getenv("TVM_TRACEBACK_LIMIT");
  if (limit == nullptr || std::string(limit) != "1") return;  // the test above runs this case
  OuterFrame(0);
  std::vector<std::string> lines = Lines(captured);
  CHECK_EQ(lines.size(), 1u);
  CHECK_EQ(LineOf(lines, "InnerFrame"), 0u);
}
