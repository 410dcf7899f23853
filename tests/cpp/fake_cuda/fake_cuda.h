// SPDX-License-Identifier: Apache-2.0
// Recorded calls and planned results of the stand-in CUDA library.
//
// Each call is one line of Calls(), such as `cudaSetDevice(1)`.  An image is the text "FAKE"
// followed by the names of its kernels: "FAKE add scale".  Handles are checked: an operation on an
// unloaded library, or on one of its kernels, returns 400 (invalid handle), and its line says so.
#ifndef TVM_FFI_TESTS_FAKE_CUDA_FAKE_CUDA_H_
#define TVM_FFI_TESTS_FAKE_CUDA_FAKE_CUDA_H_

#include <functional>
#include <string>
#include <vector>

namespace fake_cuda {

struct Device {
  int shared_memory_optin;  // maximum bytes per block
  int kernel_shared;        // static shared memory of each kernel in bytes
};

struct Launch {
  std::string kernel;
  int device;  // the current device
  unsigned grid[3];
  unsigned block[3];
  unsigned long long shared_mem_bytes;
  void* stream;
  void** args;          // valid only during the launch
  unsigned cluster[3];  // 0 if the kernel has no such attribute
};

// Clears calls, launches and planned failures; sets three devices of 1000 bytes, device 0 current.
void Reset();
// Returns the calls since Reset() or the last TakeCalls().
std::vector<std::string> TakeCalls();
const std::vector<Launch>& Launches();
std::vector<Device>& Devices();
int CurrentDevice();
void SetCurrentDevice(int device);  // not recorded
int LiveLibraries();
// Sets a function that is called during each launch, while the arguments are valid; until Reset().
void OnLaunch(std::function<void(const Launch&)> callback);

// The next `skip` calls of `function` succeed, the call after them returns `status`, and later
// calls succeed again.
void FailOnce(const char* function, int status, int skip = 0);

}  // namespace fake_cuda

#endif  // TVM_FFI_TESTS_FAKE_CUDA_FAKE_CUDA_H_
