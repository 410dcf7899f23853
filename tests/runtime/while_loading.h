// SPDX-License-Identifier: Apache-2.0
// Runs two functions on two threads, one of them in the initialiser of a library, under the
// loader's lock.  Include it in one source of a program: the library calls the function defined
// here.
#ifndef TVM_FFI_TESTS_RUNTIME_WHILE_LOADING_H_
#define TVM_FFI_TESTS_RUNTIME_WHILE_LOADING_H_

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace {

std::atomic<bool> is_loading{false};
std::atomic<bool> other_has_begun{false};
void (*during_loading)() = nullptr;

void WaitFor(const std::atomic<bool>& flag) {
  while (!flag.load()) std::this_thread::yield();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void LoadingLibraryInitialiser() {
  is_loading = true;
  WaitFor(other_has_begun);
  // Time that the other thread gets to reach the loader. If it is too short, the test passes
  // without testing anything.
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  during_loading();
}

namespace {

// Runs `other` on a thread while the library's initialiser runs; a little later, runs `during` in
// the initialiser.
void WhileLoading(const char* library, void (*during)(), void (*other)()) {
  is_loading = other_has_begun = false;
  during_loading = during;
  alarm(30);  // ends the program after a deadlock
  std::thread thread([other] {
    WaitFor(is_loading);
    other_has_begun = true;
    other();
  });
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  CHECK(handle != nullptr);
  thread.join();
  alarm(0);
  dlclose(handle);
}

}  // namespace

#endif  // TVM_FFI_TESTS_RUNTIME_WHILE_LOADING_H_
