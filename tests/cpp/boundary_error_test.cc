// SPDX-License-Identifier: Apache-2.0
// C++ exceptions at the C boundary, and arguments that used to end the process.
#include <doctest/doctest.h>
#include <tvm/ffi/function.h>

#include <cstdint>
#include <new>

#include "thrown.h"

namespace {

using namespace tvm::ffi;

// Returns the error that a caller of the C function receives.
std::string ErrorOf(const Function& function) {
  TVMFFIAny result = {};
  TVMFFIObjectHandle handle = detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(function);
  CHECK_EQ(TVMFFIFunctionCall(handle, nullptr, 0, &result), -1);
  Error error = detail::MoveFromSafeCallRaised();
  return error.kind() + ": " + error.message();
}

// Regression: for the same exception, the core raised MemoryError and the headers InternalError.
TEST_CASE("a bad_alloc becomes a MemoryError") {
  Function function = Function::FromTyped([] { throw std::bad_alloc(); });
  CHECK_EQ(ErrorOf(function), "MemoryError: out of memory");
}

// Regression: the index was passed to TVMFFIGetTypeInfo, which cannot report an unregistered type.
TEST_CASE("unknown type indices are value errors") {
  for (int64_t index : {int64_t{176000}, int64_t{-1}, int64_t{-3}, int64_t{100}, INT64_MAX,
                        INT64_MIN, (int64_t{1} << 32) + kTVMFFIObject}) {
    std::string message = "ValueError: no type is registered with index " + std::to_string(index);
    Function make = Function::GetGlobalRequired("ffi.MakeObjectFromPackedArgs");
    CHECK_EQ(Thrown([&] { make(index); }), message);
    Function init = Function::GetGlobalRequired("ffi._RegisterFFIInit");
    CHECK_EQ(Thrown([&] { init(index); }), message);
    Function describe = Function::GetGlobalRequired("ffi._PyClassRegisterTypeAttrColumns");
    CHECK_EQ(Thrown([&] { describe(index, 32); }), message);
  }
}

}  // namespace
