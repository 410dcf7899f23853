// SPDX-License-Identifier: Apache-2.0
// Threads that end inside a C function of the library, by pthread_exit or by cancellation.
// Regression: the C library unwinds the stack with an exception that must not be caught. The
// boundary between C and C++ caught it, or was noexcept, and the process ended.
#include <doctest/doctest.h>
#include <pthread.h>
#include <unistd.h>

#include "tensor_source.h"
#include "values.h"

namespace {

int stack_objects = 0;

// Its destructor must run: it is on the stack of the thread, before the function that ends it.
struct Counted {
  Counted() { ++stack_objects; }
  ~Counted() { --stack_objects; }
};

// Runs `body`, which must end its thread, on a new thread.
void* RunUntilThreadExit(void (*body)(), bool cancels) {
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

// A function object whose deleter ends the thread.
TVMFFIObjectHandle NewThreadEnding() { return NewFunction(&ExitFromCall, &ExitFromDeleter); }

int objects_released = 0;

TVMFFIObjectHandle NewCounted() {
  return NewOpaque(nullptr, [](void*) { ++objects_released; });
}

// Takes ownership of `cause` and `context`.
TVMFFIObjectHandle NewError(TVMFFIObjectHandle cause, TVMFFIObjectHandle context) {
  TVMFFIByteArray kind = Bytes("ValueError"), empty = Bytes("");
  TVMFFIObjectHandle error = nullptr;
  CHECK_EQ(TVMFFIErrorCreateWithCauseAndExtraContext(&kind, &empty, &empty, cause, context, &error),
           0);
  if (cause != nullptr) TVMFFIObjectDecRef(cause);
  if (context != nullptr) TVMFFIObjectDecRef(context);
  return error;
}

void RaiseFatal() {
  TVMFFIObjectHandle error = NewError(nullptr, NewThreadEnding());
  TVMFFIErrorSetRaised(error);
  TVMFFIObjectDecRef(error);
}

TVMFFIObjectHandle NewFatalTensor() {
  static LegacySource source({2});
  source.managed.deleter = [](DLManagedTensor*) { ExitFromDeleter(nullptr); };
  TVMFFIObjectHandle tensor = nullptr;
  CHECK_EQ(source.Import(0, 0, &tensor), 0);
  return tensor;
}

void SetGlobal(TVMFFIObjectHandle function) {
  TVMFFIByteArray name = Bytes("test.forced_unwind");
  TVMFFIFunctionSetGlobal(&name, function, 1);  // outside of CHECK, which catches exceptions
  TVMFFIObjectDecRef(function);
}

}  // namespace

TEST_CASE("a thread may exit inside a boundary") {
  CHECK(RunUntilThreadExit([] { TVMFFIHandleInitOnce(&slot, &ExitFromInit); }, false) ==
        &stack_objects);
  CHECK(slot == nullptr);
}

TEST_CASE("a thread may be cancelled inside a boundary") {
  CHECK(RunUntilThreadExit([] { TVMFFIHandleInitOnce(&slot, &WaitInInit); }, true) ==
        PTHREAD_CANCELED);
}

TEST_CASE("the slot is usable afterwards") {
  static int target;
  auto init = [](void** result) {
    *result = &target;
    return 0;
  };
  CHECK_EQ(TVMFFIHandleInitOnce(&slot, init), 0);
  CHECK_EQ(slot, static_cast<void*>(&target));
}

TEST_CASE("a thread may exit inside a call") {
  static TVMFFIObjectHandle function = NewFunction(&ExitFromCall, nullptr);
  auto body = [] {
    TVMFFIAny result = None();
    TVMFFIFunctionCall(function, nullptr, 0, &result);
  };
  CHECK(RunUntilThreadExit(body, false) == &stack_objects);
  TVMFFIObjectDecRef(function);
}

TEST_CASE("a thread may exit inside a deleter") {
  auto body = [] { TVMFFIObjectDecRef(NewThreadEnding()); };
  CHECK(RunUntilThreadExit(body, false) == &stack_objects);
}

// Regression in the tests below: destructors that release references were noexcept, as destructors
// are by default.
TEST_CASE("a thread may exit inside the deleter of a tensor") {
  auto body = [] { TVMFFIObjectDecRef(NewFatalTensor()); };
  CHECK(RunUntilThreadExit(body, false) == &stack_objects);
}

TEST_CASE("a thread may exit during the release of a view's tensor") {
  auto body = [] {
    TVMFFIObjectHandle tensor = NewFatalTensor(), view = nullptr;
    CHECK_EQ(TVMFFITensorCreateUnsafeView(tensor, TensorOf(tensor), &view), 0);
    TVMFFIObjectDecRef(tensor);
    TVMFFIObjectDecRef(view);
  };
  CHECK(RunUntilThreadExit(body, false) == &stack_objects);
}

TEST_CASE("a thread may exit during the release of an error's cause or context") {
  objects_released = 0;
  auto context = [] { TVMFFIObjectDecRef(NewError(NewCounted(), NewThreadEnding())); };
  CHECK(RunUntilThreadExit(context, false) == &stack_objects);
  CHECK_EQ(objects_released, 1);
  auto cause = [] { TVMFFIObjectDecRef(NewError(NewThreadEnding(), NewCounted())); };
  CHECK(RunUntilThreadExit(cause, false) == &stack_objects);
  CHECK_EQ(objects_released, 2);
}

TEST_CASE("a thread may exit during the release of a replaced or removed global function") {
  static TVMFFIObjectHandle later = NewFunction(&ExitFromCall, nullptr);
  auto replaces = [] {
    SetGlobal(NewThreadEnding());
    SetGlobal(later);
  };
  CHECK(RunUntilThreadExit(replaces, false) == &stack_objects);
  CHECK_EQ(StrongCount(later), 2u);
  TVMFFIObjectDecRef(later);
  auto removes = [] {
    SetGlobal(NewThreadEnding());
    TVMFFIAny result;
    CallGlobal("ffi.FunctionRemoveGlobal", {RawStr("test.forced_unwind")}, &result);
  };
  CHECK(RunUntilThreadExit(removes, false) == &stack_objects);
}

TEST_CASE("a thread may exit during the release of a replaced pending error") {
  auto by_text = [] {
    RaiseFatal();
    TVMFFIErrorSetRaisedFromCStr("ValueError", "later");
  };
  CHECK(RunUntilThreadExit(by_text, false) == &stack_objects);
  static TVMFFIObjectHandle later = NewError(nullptr, nullptr);
  auto by_error = [] {
    RaiseFatal();
    TVMFFIErrorSetRaised(later);
  };
  CHECK(RunUntilThreadExit(by_error, false) == &stack_objects);
  CHECK_EQ(StrongCount(later), 1u);
  TVMFFIObjectDecRef(later);
  auto by_failure = [] {
    RaiseFatal();
    TVMFFIByteArray key = Bytes("test.no_such_type");
    int32_t index = 0;
    TVMFFITypeKeyToIndex(&key, &index);
  };
  CHECK(RunUntilThreadExit(by_failure, false) == &stack_objects);
}

// Regression: the list of deferred objects was on the stack that was unwound, and its objects were
// not released.
TEST_CASE("deferred objects are released when the thread exits") {
  objects_released = 0;
  auto body = [] {
    // The second of two deferred objects is released first in this test.
    TVMFFIObjectHandle error =
        NewError(NewError(NewCounted(), NewCounted()), NewError(NewCounted(), NewThreadEnding()));
    for (int i = 0; i < 100; ++i) error = NewError(NewError(NewCounted(), nullptr), error);
    TVMFFIObjectDecRef(error);
  };
  CHECK(RunUntilThreadExit(body, false) == &stack_objects);
  CHECK_EQ(objects_released, 103);
}
