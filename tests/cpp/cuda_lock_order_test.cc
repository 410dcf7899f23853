// SPDX-License-Identifier: Apache-2.0
// Library initialisers may launch kernels while other threads fail in CUDA functions.
#include <doctest/doctest.h>

#include "../runtime/while_loading.h"
#include "cuda_module_setting.h"
#include "thrown.h"

namespace {

using namespace setting;  // NOLINT(*)

Function* kernel = nullptr;

Function NewKernel() {
  return Get(Create({setting::Kernel("f", {}, {"dynamicSharedMemory"}, {}, "scale")}), "f");
}

}  // namespace

// Regression: the error was created under the lock of the image, and its backtrace needed the
// loader's lock, while the initialiser, under the loader's lock, waited for the image.
TEST_CASE("kernels are launched while other threads request too much shared memory") {
  fake_driver_reset();
  {
    Function f = NewKernel();
    f(0);
    kernel = &f;
    WhileLoading(
        LOADING_LIBRARY, [] { (*kernel)(1000); },
        [] { CHECK(Thrown([] { (*kernel)(300000); }) != ""); });
    CHECK_EQ(Only("cuLaunchKernel").size(), 2);
  }
  CHECK_EQ(fake_driver_live_images(), 0);
}

// Regression: same deadlock as above, but with the lock of all devices, under which the driver
// loaded the image.
TEST_CASE("images are loaded while loading fails on another thread") {
  fake_driver_reset();
  {
    NewKernel()(0);  // the driver is available
    Function f = NewKernel();
    kernel = &f;
    fake_driver_fail("cuModuleLoadDataEx", 200, 0);
    TakeCalls();
    WhileLoading(
        LOADING_LIBRARY, [] { (*kernel)(0); }, [] { CHECK(Thrown([] { (*kernel)(0); }) != ""); });
    CHECK_EQ(Only("cuLaunchKernel").size(), 1);
    CHECK_EQ(fake_driver_live_images(), 1);
    CHECK_EQ(fake_driver_live_contexts(), 1);
  }
  CHECK_EQ(fake_driver_live_images(), 0);
  CHECK_EQ(fake_driver_live_contexts(), 0);
}
