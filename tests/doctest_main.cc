// SPDX-License-Identifier: Apache-2.0
// Main function of the C++ test programs.  `PROGRAM --test-case=PATTERN` runs some cases.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <iostream>

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  // Path of this program; tests run one of its cases in a child process.
  context.setCout(&std::cerr);
  return context.run();
}
