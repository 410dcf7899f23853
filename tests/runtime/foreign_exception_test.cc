// SPDX-License-Identifier: Apache-2.0
// C++ exceptions of callbacks in C functions: they become the pending error, whatever their type,
// and never leave the library.
#include <doctest/doctest.h>
#include <tvm/ffi/extra/c_env_api.h>

#include <stdexcept>

#include "raised.h"
#include "values.h"

namespace {

struct NotAnException {};
constexpr const char* kUnknown = "C++ exception of unknown type";

int ThrowFromInit(void**) { throw NotAnException(); }
int ThrowStandardFromInit(void**) { throw std::runtime_error("no handle"); }
int ThrowFromDeinit(void*) { throw 42; }

using SetError = void (*)(void* error_ctx, const char* kind, const char* message);
int ThrowFromAllocator(DLTensor*, DLManagedTensorVersioned**, void*, SetError) {
  throw NotAnException();
}
int ThrowAfterSettingAnError(DLTensor*, DLManagedTensorVersioned**, void* context,
                             SetError set_error) {
  set_error(context, "MemoryError", "replaced by what is thrown");
  throw std::out_of_range("thrown later");
}

// These are plain functions, so that the call passes through a C function of the library.
int ThrowFromCustomType(void*, const TVMFFIAny*, int32_t, TVMFFIAny*) { throw NotAnException(); }

int AllocateWith(DLPackManagedTensorAllocator allocator) {
  CHECK_EQ(TVMFFIEnvSetDLPackManagedTensorAllocator(allocator, 0, nullptr), 0);
  DLTensor prototype = {};
  prototype.device = {kDLCPU, 0};
  prototype.dtype = {kDLFloat, 32, 1};
  TVMFFIObjectHandle tensor = nullptr;
  int code = TVMFFIEnvTensorAlloc(&prototype, &tensor);
  CHECK(tensor == nullptr);
  CHECK_EQ(TVMFFIEnvSetDLPackManagedTensorAllocator(nullptr, 0, nullptr), 0);
  return code;
}

}  // namespace

TEST_CASE("an init function may throw") {
  void* slot = nullptr;
  CHECK_RAISES(TVMFFIHandleInitOnce(&slot, &ThrowFromInit), "InternalError", kUnknown);
  CHECK_RAISES(TVMFFIHandleInitOnce(&slot, &ThrowStandardFromInit), "InternalError", "no handle");
  CHECK(slot == nullptr);
}

TEST_CASE("the lock is released after an init function threw") {
  static int target;
  void* slot = nullptr;
  CHECK_RAISES(TVMFFIHandleInitOnce(&slot, &ThrowFromInit), "InternalError", kUnknown);
  CHECK_EQ(TVMFFIHandleInitOnce(&slot,
                                [](void** result) {
                                  *result = &target;
                                  return 0;
                                }),
           0);
  CHECK_EQ(slot, static_cast<void*>(&target));
}

TEST_CASE("a deinit function may throw and the slot is empty") {
  static int target;
  void* slot = &target;
  CHECK_RAISES(TVMFFIHandleDeinitOnce(&slot, &ThrowFromDeinit), "InternalError", kUnknown);
  CHECK(slot == nullptr);
}

TEST_CASE("an allocator may throw") {
  CHECK_RAISES(AllocateWith(&ThrowFromAllocator), "InternalError", kUnknown);
  CHECK_RAISES(AllocateWith(&ThrowAfterSettingAnError), "InternalError", "thrown later");
}

TEST_CASE("a global function called by the runtime may throw") {
  TVMFFIByteArray name = Bytes("dtype.get_custom_type_code"), text = Bytes("custom[x]8");
  TVMFFIObjectHandle function = nullptr;
  CHECK_EQ(TVMFFIFunctionCreate(nullptr, &ThrowFromCustomType, nullptr, &function), 0);
  CHECK_EQ(TVMFFIFunctionSetGlobal(&name, function, 1), 0);
  TVMFFIObjectDecRef(function);
  DLDataType dtype;
  CHECK_RAISES(TVMFFIDataTypeFromString(&text, &dtype), "InternalError", kUnknown);
}

// -2 means that the host language has a pending exception, and another error would hide that
// exception.
TEST_CASE("a host exception of a callback is passed on") {
  TVMFFIByteArray name = Bytes("dtype.get_custom_type_code"), text = Bytes("custom[x]8");
  TVMFFIObjectHandle function = nullptr;
  auto host_exception = [](void*, const TVMFFIAny*, int32_t, TVMFFIAny*) { return -2; };
  CHECK_EQ(TVMFFIFunctionCreate(nullptr, host_exception, nullptr, &function), 0);
  CHECK_EQ(TVMFFIFunctionSetGlobal(&name, function, 1), 0);
  TVMFFIObjectDecRef(function);
  DLDataType dtype;
  CHECK_RAISES(TVMFFIDataTypeFromString(&text, &dtype), "EnvErrorAlreadySet", "");
  CHECK_RAISES(
      AllocateWith([](DLTensor*, DLManagedTensorVersioned**, void*, SetError) { return -2; }),
      "EnvErrorAlreadySet", "");
}
