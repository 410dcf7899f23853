// SPDX-License-Identifier: Apache-2.0
// The list of all ForkMutexes, which a fork acquires.
#include "observe/fork_mutex.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "../platform/platform.h"

namespace tvm::ffi::extra {
namespace {

struct ForkMutexes {
  static ForkMutexes& Global() {
    static auto* mutexes = new ForkMutexes();  // used by calls after `exit` began
    return *mutexes;
  }
  static void Unlock() {
    for (ForkMutex* each : Global().all) each->unlock();
    Global().mutex.unlock();
  }

  ForkMutexes() {
    platform::LockDuringForks(
        [] {
          Global().mutex.lock();
          for (ForkMutex* each : Global().all) each->lock();
        },
        &Unlock, &Unlock);
  }

  std::mutex mutex;  // acquired before all ForkMutexes
  std::vector<ForkMutex*> all;
};

}  // namespace

void RegisterForkMutexes() { ForkMutexes::Global(); }

ForkMutex::ForkMutex() {
  ForkMutexes& mutexes = ForkMutexes::Global();
  std::lock_guard<std::mutex> lock(mutexes.mutex);
  mutexes.all.push_back(this);
}

ForkMutex::~ForkMutex() {
  ForkMutexes& mutexes = ForkMutexes::Global();
  std::lock_guard<std::mutex> lock(mutexes.mutex);
  mutexes.all.erase(std::find(mutexes.all.begin(), mutexes.all.end(), this));
}

}  // namespace tvm::ffi::extra
