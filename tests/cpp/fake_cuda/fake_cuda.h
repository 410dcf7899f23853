// SPDX-License-Identifier: Apache-2.0
// What the stand-in CUDA library saw, and how a test tells it what to answer.
//
// Each call is one line of Calls(), as `cudaSetDevice(1)`.  An image is the text "FAKE" followed by
// the names of its kernels: "FAKE add scale".  Handles are checked: an operation on a dead library,
// or on a kernel of one, answers 400 (invalid handle) and says so in its line.
#ifndef TVM_FFI_TESTS_FAKE_CUDA_FAKE_CUDA_H_
#define TVM_FFI_TESTS_FAKE_CUDA_FAKE_CUDA_H_

#include <functional>
#include <string>
#include <vector>

namespace fake_cuda {

struct Device {
  int shared_memory_optin;  // bytes that one block may have
  int kernel_shared;        // bytes of static shared memory that each kernel has on it
};

struct Launch {
  std::string kernel;
  int device;  // the current one
  unsigned grid[3];
  unsigned block[3];
  unsigned long long shared_mem_bytes;
  void* stream;
  void** args;          // valid during the launch only
  unsigned cluster[3];  // 0 without that attribute
};

// Forgets calls, launches, planned failures; three devices of 1000 bytes, 0 current.
void Reset();
// Calls since Reset() or the last TakeCalls().
std::vector<std::string> TakeCalls();
const std::vector<Launch>& Launches();
std::vector<Device>& Devices();
int CurrentDevice();
void SetCurrentDevice(int device);  // not recorded
int LiveLibraries();
// Called during each launch, while the arguments are alive; until Reset().
void OnLaunch(std::function<void(const Launch&)> callback);

// The call of `function` after the next `skip` ones answers `status`; the later ones succeed again.
void FailOnce(const char* function, int status, int skip = 0);

}  // namespace fake_cuda

#endif  // TVM_FFI_TESTS_FAKE_CUDA_FAKE_CUDA_H_
