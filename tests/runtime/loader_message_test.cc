// SPDX-License-Identifier: Apache-2.0
// The messages of the loaders of glibc and musl, of which the runtime reads the missing symbol.
#include <doctest/doctest.h>

#include "../../runtime/platform/posix_loading.h"

using tvm::ffi::platform::DescribeFailure;
using tvm::ffi::platform::LoadFailure;

namespace {

TEST_CASE("glibc names the library and the undefined symbol") {
  LoadFailure failure = DescribeFailure("/a/b.so", "/a/c.so: undefined symbol: f, version V");
  CHECK(failure.missing_symbol == "f");
  CHECK(failure.library == "/a/c.so");
  CHECK(!failure.is_missing_file);
}

TEST_CASE("musl names the library and the undefined symbol") {
  LoadFailure failure = DescribeFailure("/a/b.so", "Error relocating /a/c.so: f: symbol not found");
  CHECK(failure.missing_symbol == "f");
  CHECK(failure.library == "/a/c.so");
  CHECK(!failure.is_missing_file);
}

TEST_CASE("a missing file differs from a missing library that the file needs") {
  const char* glibc = "b.so: cannot open shared object file: No such file or directory";
  CHECK(DescribeFailure("b.so", glibc).is_missing_file);
  CHECK(!DescribeFailure("/a/c.so", glibc).is_missing_file);
  const char* musl = "Error loading shared library b.so: No such file or directory";
  CHECK(DescribeFailure("b.so", musl).is_missing_file);
  CHECK(!DescribeFailure("b.so", std::string(musl) + " (needed by /a/c.so)").is_missing_file);
  CHECK(DescribeFailure("b.so", glibc).missing_symbol.empty());
}

}  // namespace
