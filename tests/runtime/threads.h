// SPDX-License-Identifier: Apache-2.0
// Runs a function on several threads that start together.
#ifndef TVM_FFI_TESTS_RUNTIME_THREADS_H_
#define TVM_FFI_TESTS_RUNTIME_THREADS_H_

#include <atomic>
#include <thread>
#include <vector>

// Calls body(i) on thread i of `count`; each thread waits until all threads have arrived.
template <typename Body>
void RunTogether(int count, Body body) {
  std::atomic<int> arrived{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&arrived, &body, count, i] {
      arrived.fetch_add(1);
      while (arrived.load() < count) std::this_thread::yield();
      body(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

#endif  // TVM_FFI_TESTS_RUNTIME_THREADS_H_
