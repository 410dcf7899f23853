// SPDX-License-Identifier: Apache-2.0
// Fault injection: memory allocation fails at a chosen request of the thread.  Include it in one
// source of a program that is linked with the static library and --wrap=malloc, so that the
// library's requests pass through here; operator new is replaced.
#ifndef TVM_FFI_TESTS_RUNTIME_FAILING_MEMORY_H_
#define TVM_FFI_TESTS_RUNTIME_FAILING_MEMORY_H_

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

constexpr int kNever = -1;
thread_local int requests_until_failure = kNever;
thread_local bool stays_exhausted = false;
thread_local bool has_failed = false;

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

// Not inline: otherwise the compiler sees memory from malloc passed to delete.
#define NOINLINE __attribute__((noinline))
NOINLINE void* operator new(size_t size) {
  void* space = FailsNow() ? nullptr : __real_malloc(size);
  if (space == nullptr) throw std::bad_alloc();
  return space;
}
NOINLINE void operator delete(void* space) noexcept { std::free(space); }
NOINLINE void operator delete(void* space, size_t) noexcept { std::free(space); }

#endif  // TVM_FFI_TESTS_RUNTIME_FAILING_MEMORY_H_
