// SPDX-License-Identifier: Apache-2.0
// Library initialisers may register types and initialize slots, whatever other threads do.  The
// loader holds its lock while initialisers run, so no thread may wait for the loader while it holds
// a lock that an initialiser may acquire.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <atomic>
#include <string>

#include "values.h"
#include "while_loading.h"

namespace {

// Returns 0 for success instead of -1 with a pending error.
void CheckRaised(int code) {
  CHECK_EQ(code, -1);
  TVMFFIObjectHandle error = nullptr;
  TVMFFIErrorMoveFromRaised(&error);
  CHECK(error != nullptr);
  TVMFFIObjectDecRef(error);
}

void RegisterType() {
  static std::atomic<int> count{0};
  std::string text = "test.lock_order." + std::to_string(count++);
  TVMFFIByteArray key = Bytes(text);
  CHECK(TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 1, kTVMFFIObject) >= kTVMFFIDynObjectBegin);
}

constexpr int32_t kNoType = 3000000;

void FailToRegisterField() {
  TVMFFIFieldInfo info = {};
  info.name = Bytes("field");
  CheckRaised(TVMFFITypeRegisterField(kNoType, &info));
}
void FailToRegisterMethod() {
  TVMFFIMethodInfo info = {};
  info.name = Bytes("method");
  CheckRaised(TVMFFITypeRegisterMethod(kNoType, &info));
}
void FailToRegisterMetadata() {
  TVMFFITypeMetadata metadata = {};
  CheckRaised(TVMFFITypeRegisterMetadata(kNoType, &metadata));
}
void FailToRegisterAttr() {
  TVMFFIByteArray name = Bytes("__test_lock_order__");
  TVMFFIAny value = Int(1);
  CheckRaised(TVMFFITypeRegisterAttr(-7, &name, &value));
}

}  // namespace

// This test is the first in the file, because the initialization that it tests happens once per
// process. Regression: the address of the loader was determined under the guard of a static
// variable, for which the initialiser also waited.
TEST_CASE("threads register names twice concurrently") {
  static TVMFFIObjectHandle function = nullptr;
  auto call = [](void*, const TVMFFIAny*, int32_t, TVMFFIAny*) { return 0; };
  CHECK_EQ(TVMFFIFunctionCreate(nullptr, call, nullptr, &function), 0);
  static TVMFFIByteArray name = Bytes("test.lock_order.taken");
  CHECK_EQ(TVMFFIFunctionSetGlobal(&name, function, 0), 0);
  auto take_again = [] { CheckRaised(TVMFFIFunctionSetGlobal(&name, function, 0)); };
  // In an initialiser, the failure is reported as a warning, not as an error.
  auto pass_over = [] { CHECK_EQ(TVMFFIFunctionSetGlobal(&name, function, 0), 0); };
  WhileLoading(LOADING_LIBRARY, pass_over, take_again);
  TVMFFIObjectDecRef(function);
}

// Regression: the error was created under the type table's lock, and its backtrace needs the
// loader's lock for names. Each thread needs this lock, because symbols of code addresses are
// cached per thread.
TEST_CASE("types are registered while other registrations fail") {
  WhileLoading(LOADING_LIBRARY, &RegisterType, &FailToRegisterField);
  WhileLoading(LOADING_LIBRARY, &RegisterType, &FailToRegisterMethod);
  WhileLoading(LOADING_LIBRARY, &RegisterType, &FailToRegisterMetadata);
  WhileLoading(LOADING_LIBRARY, &RegisterType, &FailToRegisterAttr);
}

// Regression: all slots shared a lock, and an init function that loads a library held it.
TEST_CASE("slots are initialized while another init function loads a library") {
  static int target;
  static void* slot = nullptr;
  static void* other_slot = nullptr;
  WhileLoading(
      LOADING_LIBRARY,
      [] {
        auto init = [](void** result) {
          *result = &target;
          return 0;
        };
        CHECK_EQ(TVMFFIHandleInitOnce(&slot, init), 0);
      },
      [] {
        auto init = [](void** result) {
          *result = dlopen("libm.so.6", RTLD_NOW);
          return 0;
        };
        CHECK_EQ(TVMFFIHandleInitOnce(&other_slot, init), 0);
      });
  CHECK_EQ(slot, static_cast<void*>(&target));
  CHECK(other_slot != nullptr);
}
