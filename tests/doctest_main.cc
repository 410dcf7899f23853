// SPDX-License-Identifier: Apache-2.0
// The main function of the C++ test programs.  `PROGRAM --test-case=PATTERN` runs some cases.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <iostream>

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  // Where tests look that run a part of themselves in another process.
  context.setCout(&std::cerr);
  return context.run();
}
