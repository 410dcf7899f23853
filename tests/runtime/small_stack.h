// SPDX-License-Identifier: Apache-2.0
// Runs a function on a thread with a stack of half a MiB, which deep recursion overflows soon.
#ifndef TVM_FFI_TESTS_RUNTIME_SMALL_STACK_H_
#define TVM_FFI_TESTS_RUNTIME_SMALL_STACK_H_

#include <pthread.h>

#include <cstddef>
#include <cstdlib>

template <typename Body>
void OnSmallStack(Body body) {
  constexpr size_t kStackBytes = 512 * 1024;
  pthread_attr_t attributes;
  pthread_t thread;
  auto run = [](void* argument) -> void* {
    (*static_cast<Body*>(argument))();
    return nullptr;
  };
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  if (pthread_create(&thread, &attributes, run, &body) != 0) std::abort();
  pthread_attr_destroy(&attributes);
  pthread_join(thread, nullptr);
}

#endif  // TVM_FFI_TESTS_RUNTIME_SMALL_STACK_H_
