// SPDX-License-Identifier: Apache-2.0
// Runs the registered tests in the order of their definition; status 1 when one failed.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <vector>

#include "check.h"

namespace check {
namespace {

struct Test {
  const char* name;
  void (*body)();
};

std::vector<Test>& Tests() {
  static std::vector<Test> tests;
  return tests;
}

std::atomic<int> failures{0};

bool IsWanted(const Test& test, int argc, char** argv) {
  if (argc == 1) return true;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(test.name, argv[i]) == 0) return true;
  }
  return false;
}

}  // namespace

Registration::Registration(const char* name, void (*body)()) { Tests().push_back({name, body}); }

void Fail(const char* file, int line, const std::string& text) {
  failures.fetch_add(1);
  std::fprintf(stderr, "%s:%d: %s\n", file, line, text.c_str());
}

}  // namespace check

int main(int argc, char** argv) {
  int run = 0;
  for (const check::Test& test : check::Tests()) {
    if (!check::IsWanted(test, argc, argv)) continue;
    int before = check::failures.load();
    test.body();
    ++run;
    if (check::failures.load() != before) std::fprintf(stderr, "FAILED %s\n", test.name);
  }
  std::printf("%d tests, %d failures\n", run, check::failures.load());
  return run == 0 || check::failures.load() != 0 ? 1 : 0;
}
