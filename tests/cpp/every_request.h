// SPDX-License-Identifier: Apache-2.0
// Calls of the C++ API in which each memory request fails once.
#ifndef TVM_FFI_TESTS_CPP_EVERY_REQUEST_H_
#define TVM_FFI_TESTS_CPP_EVERY_REQUEST_H_

#include <doctest/doctest.h>
#include <tvm/ffi/error.h>

#include <new>

#include "../runtime/failing_memory.h"

namespace {

// Runs `call` repeatedly: the n-th memory request fails, for n = 0, 1, ... until no request fails;
// `call` must return true then. Each failure must throw and leave the number of live objects
// unchanged.
template <typename Call>
void CheckEveryRequest(const char* label, const int* alive, Call call) {
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
      bool is_right = has_thrown == has_failed && answer != has_thrown && *alive == alive_before;
      CHECK_MESSAGE(is_right, label << ", request " << n);
      if (!is_right) return;
      if (!has_failed) break;
    }
  }
}

}  // namespace

#endif  // TVM_FFI_TESTS_CPP_EVERY_REQUEST_H_
