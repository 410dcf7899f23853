// SPDX-License-Identifier: Apache-2.0
// The current device of the calling thread, set by host code that passes addresses to kernels.
#include <doctest/doctest.h>

#include "../runtime/threads.h"
#include "cuda_module_setting.h"
#include "thrown.h"

namespace {

using namespace setting;  // NOLINT(*)

Function SetDevice() { return Function::GetGlobalRequired("pytvmffi.CUDASetDevice"); }

}  // namespace

TEST_CASE("threads retain the context of a device once and never release it") {
  fake_driver_reset();
  RunTogether(8, [](int) { SetDevice()(2, 1); });
  CHECK_EQ(fake_driver_live_contexts(), 1);
}

TEST_CASE("kernels with addresses run on the device that was set") {
  fake_driver_reset();
  Function scale = Get(Create({Kernel("scale", {"void*"}, {"gridDim", "blockDim"})}), "scale");
  Function set = SetDevice();
  set(2, 1);
  CHECK_EQ(fake_driver_current_context(), 1);
  scale(nullptr, 1, 1);
  CHECK_EQ(fake_driver_current_context(), 1);
  set(2, 0);
  scale(nullptr, 1, 1);
  CHECK_EQ(Joined(Only("cuLaunchKernel")),
           "cuLaunchKernel(scale on 1, grid 1 1 1, block 1 1 1, 0 bytes, stream 0)\n"
           "cuLaunchKernel(scale on 0, grid 1 1 1, block 1 1 1, 0 bytes, stream 0)\n");
}

TEST_CASE("a device that is already current costs one query") {
  fake_driver_reset();
  Function set = SetDevice();
  set(2, 1);
  TakeCalls();
  set(2, 1);
  CHECK_EQ(Joined(TakeCalls()), "cuCtxGetCurrent(1)\n");
}

TEST_CASE("the primary context becomes current") {
  fake_driver_reset();
  fake_driver_use_another_context();
  SetDevice()(2, 0);
  CHECK_EQ(fake_driver_current_context(), 0);
}

TEST_CASE("the host device is a no-op, and other device types are refused") {
  fake_driver_reset();
  Function set = SetDevice();
  set(1, 0);
  set(3, 0);
  CHECK_EQ(Joined(TakeCalls()), "");
  CHECK_EQ(Thrown([&] { set(10, 0); }),
           "ValueError: cannot launch kernels: expected a CUDA device, got device type 10");
  CHECK_EQ(Thrown([&] { set(2, -1); }),
           "ValueError: there is no cuda:-1: the number of supported devices is 256");
  CHECK_EQ(Joined(TakeCalls()), "");
  CHECK_EQ(Thrown([&] { set(2, 7); }),
           "RuntimeError: CUDA driver: cuDeviceGet failed on cuda:7: CUDA_ERROR_INVALID_DEVICE "
           "(101): a description");
}
