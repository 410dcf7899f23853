// SPDX-License-Identifier: Apache-2.0
// Initialisers of libraries may launch kernels, whatever fails meanwhile on other threads.
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

// Cause: the error was made under the lock of the image, and its backtrace asks the loader for
// names, while the initialiser, under the loader's lock, waited for the image.
TEST_CASE("kernels are launched while others ask for too much shared memory") {
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

// Cause: the same with the lock of all devices, under which the driver loaded the image as well.
TEST_CASE("images are loaded while they fail to load elsewhere") {
  fake_driver_reset();
  {
    NewKernel()(0);  // the driver is there
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
