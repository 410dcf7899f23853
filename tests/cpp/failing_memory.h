// SPDX-License-Identifier: Apache-2.0
// Memory that runs out at a chosen request.  For one source of a program that is linked with the
// static library and --wrap=malloc, so that requests of the library pass through here.
#ifndef TVM_FFI_TESTS_CPP_FAILING_MEMORY_H_
#define TVM_FFI_TESTS_CPP_FAILING_MEMORY_H_

#include <tvm/ffi/error.h>

#include <cstdlib>
#include <new>
#include <string>

#include "../runtime/check.h"

namespace {

constexpr int kNever = -1;
int requests_until_failure = kNever;
bool stays_exhausted = false;
bool has_failed = false;

bool FailsNow() {
  if (requests_until_failure == kNever) return false;
  if (requests_until_failure > 0) {
    --requests_until_failure;
    return false;
  }
  has_failed = true;
  if (!stays_exhausted) requests_until_failure = kNever;
  return true;
}

}  // namespace

extern "C" void* __real_malloc(size_t size);
extern "C" void* __wrap_malloc(size_t size) { return FailsNow() ? nullptr : __real_malloc(size); }

// Not inline: the compiler would see malloc's memory given to delete.
#define NOINLINE __attribute__((noinline))
NOINLINE void* operator new(size_t size) {
  void* space = FailsNow() ? nullptr : __real_malloc(size);
  if (space == nullptr) throw std::bad_alloc();
  return space;
}
NOINLINE void operator delete(void* space) noexcept { std::free(space); }
NOINLINE void operator delete(void* space, size_t) noexcept { std::free(space); }

namespace {

// Runs `call` with the n-th request failing, for n = 1, 2, ... until none fails; then its answer
// must be `true`.  Afterwards there are as many objects as before.
template <typename Call>
void CheckEveryRequest(const char* what, const int* alive, Call call) {
  int alive_before = *alive;
  for (bool stays : {false, true}) {
    for (int n = 0;; ++n) {
      has_failed = false;
      stays_exhausted = stays;
      requests_until_failure = n;
      bool answer = false;
      bool has_thrown = false;
      try {
        answer = call();
      } catch (const std::bad_alloc&) {
        has_thrown = true;
      } catch (const tvm::ffi::Error& error) {
        requests_until_failure = kNever;
        has_thrown = error.kind() == "MemoryError";
      }
      requests_until_failure = kNever;
      if (has_thrown != has_failed || answer == has_thrown || *alive != alive_before) {
        check::Fail(__FILE__, __LINE__, std::string(what) + ", request " + std::to_string(n));
        return;
      }
      if (!has_failed) break;
    }
  }
}

}  // namespace

#endif  // TVM_FFI_TESTS_CPP_FAILING_MEMORY_H_
