// SPDX-License-Identifier: Apache-2.0
// Exceptions of C++ functions at the boundary, and arguments that once ended the process.
#include <doctest/doctest.h>
#include <tvm/ffi/function.h>

#include <cstdint>
#include <new>

#include "thrown.h"

namespace {

using namespace tvm::ffi;

// The error that a caller behind the C ABI finds.
std::string ErrorOf(const Function& function) {
  TVMFFIAny result = {};
  TVMFFIObjectHandle handle = detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(function);
  CHECK_EQ(TVMFFIFunctionCall(handle, nullptr, 0, &result), -1);
  Error error = detail::MoveFromSafeCallRaised();
  return error.kind() + ": " + error.message();
}

// Cause: the core said MemoryError and the headers, for the same exception, InternalError.
TEST_CASE("memory that runs out is a memory error") {
  Function function = Function::FromTyped([] { throw std::bad_alloc(); });
  CHECK_EQ(ErrorOf(function), "MemoryError: out of memory");
}

// Cause: the index went to TVMFFIGetTypeInfo, which has no way to say that there is no such type.
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
