// SPDX-License-Identifier: Apache-2.0
// Function objects: the handle that a callback receives, and the release of its closure.
#include <doctest/doctest.h>

#include <cstring>

#include "raised.h"
#include "values.h"

namespace {

struct Closure {
  int calls = 0;
  int deletions = 0;
};

void* last_handle = nullptr;

int AddToClosure(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  last_handle = self;
  auto* closure = static_cast<Closure*>(self);
  ++closure->calls;
  int64_t sum = 0;
  for (int32_t i = 0; i < num_args; ++i) sum += args[i].v_int64;
  *result = Int(sum);
  return 0;
}

void DeleteClosure(void* self) { ++static_cast<Closure*>(self)->deletions; }

int NoteHandle(void* handle, const TVMFFIAny*, int32_t, TVMFFIAny* result) {
  last_handle = handle;
  *result = None();
  return 0;
}

TVMFFIObjectHandle Create(void* self, TVMFFISafeCallType call, void (*deleter)(void*)) {
  TVMFFIObjectHandle function = nullptr;
  CHECK_EQ(TVMFFIFunctionCreate(self, call, deleter, &function), 0);
  return function;
}

void* HandleSeenByCall(TVMFFIObjectHandle function) {
  TVMFFIAny result = None();
  last_handle = nullptr;
  CHECK_EQ(TVMFFIFunctionCall(function, nullptr, 0, &result), 0);
  return last_handle;
}

}  // namespace

TEST_CASE("a call passes closure, arguments and result") {
  Closure closure;
  TVMFFIObjectHandle function = Create(&closure, &AddToClosure, nullptr);
  TVMFFIAny args[] = {Int(40), Int(2)};
  TVMFFIAny result = None();
  CHECK_EQ(TVMFFIFunctionCall(function, args, 2, &result), 0);
  CHECK(SameBytes(result, Int(42)));
  CHECK_EQ(last_handle, static_cast<void*>(&closure));
  CHECK_EQ(closure.calls, 1);
  TVMFFIObjectDecRef(function);
}

TEST_CASE("a function has the documented cell") {
  Closure closure;
  for (void* self : {static_cast<void*>(nullptr), static_cast<void*>(&closure)}) {
    TVMFFIObjectHandle function = Create(self, &NoteHandle, nullptr);
    auto* header = static_cast<TVMFFIObject*>(function);
    CHECK_EQ(header->type_index, 68);
    CHECK_EQ(header->combined_ref_count, UINT64_C(0x0000000100000001));
    CHECK((TVMFFIFunctionGetCellPtr(function)->safe_call != nullptr));
    CHECK(TVMFFIFunctionGetCellPtr(function)->cpp_call == nullptr);
    TVMFFIObjectDecRef(function);
  }
}

TEST_CASE("the safe call of the cell takes the function as handle") {
  Closure closure;
  TVMFFIObjectHandle function = Create(&closure, &AddToClosure, nullptr);
  TVMFFIAny arg = Int(7), result = None();
  CHECK_EQ(TVMFFIFunctionGetCellPtr(function)->safe_call(function, &arg, 1, &result), 0);
  CHECK(SameBytes(result, Int(7)));
  CHECK_EQ(last_handle, static_cast<void*>(&closure));
  TVMFFIObjectDecRef(function);
}

TEST_CASE("a function without context is the callback itself and receives its handle") {
  TVMFFIObjectHandle function = Create(nullptr, &NoteHandle, nullptr);
  CHECK((TVMFFIFunctionGetCellPtr(function)->safe_call == &NoteHandle));
  CHECK_EQ(HandleSeenByCall(function), function);
  TVMFFIObjectDecRef(function);
}

TEST_CASE("a null closure with a deleter is passed as null") {
  static int deletions;
  deletions = 0;
  TVMFFIObjectHandle function = Create(nullptr, &NoteHandle, [](void* self) {
    CHECK(self == nullptr);
    ++deletions;
  });
  CHECK(HandleSeenByCall(function) == nullptr);
  TVMFFIObjectDecRef(function);
  CHECK_EQ(deletions, 1);
}

TEST_CASE("a closure is deleted once with the last reference") {
  Closure closure;
  TVMFFIObjectHandle function = Create(&closure, &AddToClosure, &DeleteClosure);
  TVMFFIObjectIncRef(function);
  TVMFFIObjectDecRef(function);
  CHECK_EQ(closure.deletions, 0);
  TVMFFIObjectDecRef(function);
  CHECK_EQ(closure.deletions, 1);
}

TEST_CASE("return codes pass through unchanged") {
  auto answer = [](void*, const TVMFFIAny* args, int32_t, TVMFFIAny*) {
    return static_cast<int>(args[0].v_int64);
  };
  TVMFFIObjectHandle function = Create(nullptr, answer, nullptr);
  for (int code : {-1, -2, 0}) {
    TVMFFIAny arg = Int(code), result = None();
    CHECK_EQ(TVMFFIFunctionCall(function, &arg, 1, &result), code);
    CHECK(!IsErrorPending());
    CHECK(SameBytes(result, None()));
  }
  TVMFFIObjectDecRef(function);
}

TEST_CASE("a raised error reaches the caller as the same object") {
  TVMFFIByteArray kind = Bytes("ValueError"), message = Bytes("m"), backtrace = {nullptr, 0};
  TVMFFIObjectHandle error = nullptr;
  CHECK_EQ(TVMFFIErrorCreate(&kind, &message, &backtrace, &error), 0);
  auto raise = [](void* self, const TVMFFIAny*, int32_t, TVMFFIAny*) {
    TVMFFIErrorSetRaised(self);
    return -1;
  };
  TVMFFIObjectHandle function = Create(error, raise, nullptr);
  TVMFFIAny result = None();
  CHECK_EQ(TVMFFIFunctionCall(function, nullptr, 0, &result), -1);
  TVMFFIObjectHandle taken = nullptr;
  TVMFFIErrorMoveFromRaised(&taken);
  CHECK_EQ(taken, error);
  TVMFFIObjectDecRef(taken);
  TVMFFIObjectDecRef(error);
  TVMFFIObjectDecRef(function);
}

TEST_CASE("a null callback is a value error and leaves the closure to the caller") {
  Closure closure;
  TVMFFIObjectHandle function = &closure;
  CHECK_RAISES(TVMFFIFunctionCreate(&closure, nullptr, &DeleteClosure, &function), "ValueError",
               "safe_call is NULL");
  CHECK_EQ(function, static_cast<void*>(&closure));
  CHECK_EQ(closure.deletions, 0);
}
