// SPDX-License-Identifier: Apache-2.0
// A thread that ends inside a C function of the library, by pthread_exit or because it is
// cancelled. Cause of the failures that this guards against: the C library unwinds the stack with
// an exception that nobody may keep; the boundary caught it, or was noexcept, and the process
// ended.
#include <doctest/doctest.h>
#include <pthread.h>
#include <unistd.h>

#include "values.h"

namespace {

int stack_objects = 0;

// On the stack of the thread, in front of what ends it.
struct Counted {
  Counted() { ++stack_objects; }
  ~Counted() { --stack_objects; }
};

// Runs `body` on a thread that it must end.
void* RunAndExpectTheEnd(void (*body)(), bool cancels) {
  pthread_t thread;
  auto start = [](void* given) -> void* {
    Counted counted;
    reinterpret_cast<void (*)()>(given)();
    return nullptr;
  };
  CHECK_EQ(pthread_create(&thread, nullptr, start, reinterpret_cast<void*>(body)), 0);
  if (cancels) CHECK_EQ(pthread_cancel(thread), 0);
  void* result = nullptr;
  CHECK_EQ(pthread_join(thread, &result), 0);
  CHECK_EQ(stack_objects, 0);
  return result;
}

int ExitFromInit(void**) { pthread_exit(&stack_objects); }
int WaitInInit(void**) {
  for (;;) pause();
}
int ExitFromCall(void*, const TVMFFIAny*, int32_t, TVMFFIAny*) { pthread_exit(&stack_objects); }
void ExitFromDeleter(void*) { pthread_exit(&stack_objects); }

void* slot = nullptr;

TVMFFIObjectHandle NewFunction(TVMFFISafeCallType call, void (*deleter)(void*)) {
  TVMFFIObjectHandle function = nullptr;
  CHECK_EQ(TVMFFIFunctionCreate(&slot, call, deleter, &function), 0);
  return function;
}

}  // namespace

TEST_CASE("thread may exit inside a boundary") {
  CHECK(RunAndExpectTheEnd([] { TVMFFIHandleInitOnce(&slot, &ExitFromInit); }, false) ==
        &stack_objects);
  CHECK(slot == nullptr);
}

TEST_CASE("thread may be cancelled inside a boundary") {
  CHECK(RunAndExpectTheEnd([] { TVMFFIHandleInitOnce(&slot, &WaitInInit); }, true) ==
        PTHREAD_CANCELED);
}

TEST_CASE("slot is free afterwards") {
  static int target;
  auto init = [](void** result) {
    *result = &target;
    return 0;
  };
  CHECK_EQ(TVMFFIHandleInitOnce(&slot, init), 0);
  CHECK_EQ(slot, static_cast<void*>(&target));
}

TEST_CASE("thread may exit inside a call") {
  static TVMFFIObjectHandle function = NewFunction(&ExitFromCall, nullptr);
  auto body = [] {
    TVMFFIAny result = None();
    TVMFFIFunctionCall(function, nullptr, 0, &result);
  };
  CHECK(RunAndExpectTheEnd(body, false) == &stack_objects);
  TVMFFIObjectDecRef(function);
}

TEST_CASE("thread may exit inside a deleter") {
  auto body = [] { TVMFFIObjectDecRef(NewFunction(&ExitFromCall, &ExitFromDeleter)); };
  CHECK(RunAndExpectTheEnd(body, false) == &stack_objects);
}
