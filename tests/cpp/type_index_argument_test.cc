// SPDX-License-Identifier: Apache-2.0 Global functions with a type index argument.  Regression: an
// unregistered index ended the process, because the C function that they called cannot report an
// error.
#include <doctest/doctest.h>
#include <tvm/ffi/function.h>

#include <cstdint>

#include "thrown.h"

namespace {

using namespace tvm::ffi;

template <typename... Args>
std::string ErrorOf(const char* name, Args... args) {
  return Thrown([&] { Function::GetGlobalRequired(name)(args...); });
}

TEST_CASE("unknown indices are errors") {
  for (const char* name : {"ffi.MakeObjectFromPackedArgs", "ffi._RegisterFFIInit"}) {
    CHECK_EQ(ErrorOf(name, 176000), "ValueError: no type is registered with index 176000");
    CHECK_EQ(ErrorOf(name, -49), "ValueError: no type is registered with index -49");
    CHECK(!ErrorOf(name, INT64_MAX).empty());
  }
  CHECK_EQ(ErrorOf("ffi._PyClassRegisterTypeAttrColumns", 176000, 64),
           "ValueError: no type is registered with index 176000");
}

}  // namespace
