// SPDX-License-Identifier: Apache-2.0
// Slots that are initialized once and deinitialized once.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "raised.h"
#include "threads.h"
#include "values.h"

namespace {

int target = 0;
std::atomic<int> inits{0};
int deinits = 0;
int code_to_return = 0;

int Init(void** result) {
  inits.fetch_add(1);
  target = 42;  // not atomic: a thread that sees the handle must see this write
  *result = &target;
  return code_to_return;
}

// Gives the other threads time to enter.
int InitSlowly(void** result) {
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return Init(result);
}

int InitNull(void** result) {
  *result = nullptr;
  return 0;
}

int InitRaising(void**) {
  TVMFFIErrorSetRaisedFromCStr("ValueError", "no handle today");
  return -1;
}

int Deinit(void* handle) {
  CHECK_EQ(handle, static_cast<void*>(&target));
  ++deinits;
  return code_to_return;
}

void Reset(int code) {
  inits = 0;
  deinits = 0;
  code_to_return = code;
}

}  // namespace

TEST_CASE("a slot is initialized once") {
  Reset(0);
  void* slot = nullptr;
  CHECK_EQ(TVMFFIHandleInitOnce(&slot, &Init), 0);
  CHECK_EQ(slot, static_cast<void*>(&target));
  CHECK_EQ(TVMFFIHandleInitOnce(&slot, &Init), 0);
  CHECK_EQ(inits.load(), 1);
}

TEST_CASE("the code of the init function is returned unchanged") {
  Reset(7);
  void* slot = nullptr;
  CHECK_EQ(TVMFFIHandleInitOnce(&slot, &Init), 7);
  CHECK(slot == nullptr);
  CHECK(!IsErrorPending());
  Reset(0);
  CHECK_EQ(TVMFFIHandleInitOnce(&slot, &Init), 0);  // a failed initialization may be repeated
  CHECK(slot != nullptr);
}

TEST_CASE("an error of the init function stays pending") {
  void* slot = nullptr;
  CHECK_RAISES(TVMFFIHandleInitOnce(&slot, &InitRaising), "ValueError", "no handle today");
  CHECK(slot == nullptr);
}

TEST_CASE("a null handle is a runtime error") {
  void* slot = nullptr;
  CHECK_RAISES(TVMFFIHandleInitOnce(&slot, &InitNull), "RuntimeError",
               "TVMFFIHandleInitOnce: init_func must return a non-NULL handle");
  CHECK(slot == nullptr);
}

TEST_CASE("an init function may initialize another slot") {
  static void* outer;
  static void* inner;
  outer = inner = nullptr;
  Reset(0);
  CHECK_EQ(TVMFFIHandleInitOnce(&outer,
                                [](void** result) {
                                  CHECK_EQ(TVMFFIHandleInitOnce(&inner, &Init), 0);
                                  *result = inner;
                                  return 0;
                                }),
           0);
  CHECK_EQ(outer, static_cast<void*>(&target));
  CHECK_EQ(inits.load(), 1);
}

TEST_CASE("threads that enter concurrently initialize once") {
  Reset(0);
  for (int round = 0; round < 20; ++round) {
    void* slot = nullptr;
    target = 0;
    RunTogether(8, [&](int) {
      CHECK_EQ(TVMFFIHandleInitOnce(&slot, &InitSlowly), 0);
      CHECK_EQ(*static_cast<int*>(__atomic_load_n(&slot, __ATOMIC_ACQUIRE)), 42);
    });
  }
  CHECK_EQ(inits.load(), 20);
}

TEST_CASE("an empty slot is not deinitialized") {
  Reset(5);
  void* slot = nullptr;
  CHECK_EQ(TVMFFIHandleDeinitOnce(&slot, &Deinit), 0);
  CHECK_EQ(deinits, 0);
}

TEST_CASE("deinit empties the slot and returns the code") {
  for (int code : {0, 5, -1}) {
    Reset(code);
    void* slot = &target;
    CHECK_EQ(TVMFFIHandleDeinitOnce(&slot, &Deinit), code);
    CHECK(slot == nullptr);
    CHECK_EQ(TVMFFIHandleDeinitOnce(&slot, &Deinit), 0);
    CHECK_EQ(deinits, 1);
    CHECK(!IsErrorPending());
  }
}

TEST_CASE("threads that enter concurrently deinitialize once") {
  static std::atomic<int> calls;
  calls = 0;
  void* slot = &target;
  RunTogether(8, [&](int) {
    CHECK_EQ(TVMFFIHandleDeinitOnce(&slot,
                                    [](void*) {
                                      calls.fetch_add(1);
                                      return 0;
                                    }),
             0);
  });
  CHECK_EQ(calls.load(), 1);
}
