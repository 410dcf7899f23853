// SPDX-License-Identifier: Apache-2.0
// Host code of examples/cubin_launcher with the fake CUDA library: launches and argument checks.
// The host does not access device memory, so the tests use arbitrary addresses.
#include <doctest/doctest.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

#include "../cpp/fake_cuda/fake_cuda.h"
#include "../cpp/thrown.h"

extern "C" {
extern const char __tvm_ffi__cubin_scale[] = "FAKE scale_f32";
extern const char __tvm_ffi__cubin_scale_end[] = "";
int __tvm_ffi_scale(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result);
}

namespace {

using namespace tvm::ffi;

// A vector in device memory whose tensor has a byte offset of 16.
struct DeviceVector {
  explicit DeviceVector(int64_t size, int device_id = 0, uintptr_t address = 0x10000)
      : shape(size), tensor{reinterpret_cast<void*>(address),
                            {kDLCUDA, device_id},
                            1,
                            {kDLFloat, 32, 1},
                            &shape,
                            &stride,
                            16} {}

  int64_t shape;
  int64_t stride = 1;
  DLTensor tensor;
};

void Scale(DeviceVector& x, double factor, DeviceVector& y) {
  Function::InvokeExternC(nullptr, __tvm_ffi_scale, &x.tensor, factor, &y.tensor);
}

std::string Refusal(DeviceVector& x, DeviceVector& y) {
  std::string text = Thrown([&] { Scale(x, 2, y); });
  return text.substr(text.rfind('`') == std::string::npos ? 0 : text.find('`'));
}

TEST_CASE("the kernel is launched on the current stream of the device of the tensors") {
  fake_cuda::Reset();
  DeviceVector x(1000, 1, 0x10000), y(1000, 1, 0x20000);
  TVMFFIEnvSetStream(kDLCUDA, 0, reinterpret_cast<void*>(0x111), nullptr);
  TVMFFIEnvSetStream(kDLCUDA, 1, reinterpret_cast<void*>(0x222), nullptr);
  Scale(x, 2.5, y);
  TVMFFIEnvSetStream(kDLCUDA, 1, nullptr, nullptr);
  Scale(x, 2.5, y);
  CHECK_EQ(fake_cuda::Launches().size(), 2u);
  const fake_cuda::Launch& launch = fake_cuda::Launches()[0];
  CHECK_EQ(launch.kernel, "scale_f32");
  CHECK_EQ(launch.device, 1);
  CHECK_EQ(launch.stream, reinterpret_cast<void*>(0x222));
  CHECK(fake_cuda::Launches()[1].stream == nullptr);
  CHECK((launch.grid[0] == 4 && launch.grid[1] == 1 && launch.grid[2] == 1));
  CHECK((launch.block[0] == 256 && launch.block[1] == 1 && launch.block[2] == 1));
  CHECK_EQ(fake_cuda::CurrentDevice(), 0);
}

TEST_CASE("kernel arguments are addresses that include the byte offset") {
  fake_cuda::Reset();
  DeviceVector x(3, 0, 0x10000), y(3, 0, 0x20000);
  uintptr_t from = 0, to = 0;
  float factor = 0;
  int64_t size = 0;
  fake_cuda::OnLaunch([&](const fake_cuda::Launch& launch) {
    from = *static_cast<uintptr_t*>(launch.args[0]);
    factor = *static_cast<float*>(launch.args[1]);
    to = *static_cast<uintptr_t*>(launch.args[2]);
    size = *static_cast<int64_t*>(launch.args[3]);
  });
  Scale(x, 2.5, y);
  CHECK_EQ(from, 0x10010u);
  CHECK_EQ(to, 0x20010u);
  CHECK(factor == 2.5f);
  CHECK_EQ(size, 3);
}

TEST_CASE("no kernel is launched for an empty vector") {
  fake_cuda::Reset();
  DeviceVector x(0), y(0);
  Scale(x, 2, y);
  CHECK(fake_cuda::Launches().empty());
}

TEST_CASE("tensors with other types, shapes or devices are refused") {
  fake_cuda::Reset();
  DeviceVector good(3), on_cpu(3), doubles(3), matrix(3), strided(3), longer(4), elsewhere(3, 1);
  on_cpu.tensor.device.device_type = kDLCPU;
  doubles.tensor.dtype.bits = 64;
  matrix.tensor.ndim = 0;
  strided.stride = 2;
  CHECK_EQ(Refusal(on_cpu, good), "`x` must be a CUDA tensor");
  CHECK_EQ(Refusal(good, on_cpu), "`y` must be a CUDA tensor");
  CHECK_EQ(Refusal(good, doubles), "`y` must be float32");
  CHECK_EQ(Refusal(matrix, good), "`x` must be a vector");
  CHECK_EQ(Refusal(good, strided), "`y` must be compact");
  CHECK_EQ(Refusal(good, longer), "`x` and `y` must have one length");
  CHECK_EQ(Refusal(good, elsewhere), "`x` and `y` must be on one device");
  CHECK(fake_cuda::Launches().empty());
}

TEST_CASE("a failed launch is an error and restores the current device") {
  fake_cuda::Reset();
  DeviceVector x(3, 2), y(3, 2);
  fake_cuda::FailOnce("cudaLaunchKernel", 1);
  CHECK_EQ(Thrown([&] { Scale(x, 2, y); }),
           "RuntimeError: CUDA Error: cudaErrorInvalidValue (1): invalid argument");
  CHECK_EQ(fake_cuda::CurrentDevice(), 0);
}

}  // namespace
