// SPDX-License-Identifier: Apache-2.0
// CUDA headers on a stand-in CUDA library, without a device.
//
// The file is compiled twice, for the driver API and for the runtime API, and both objects are
// linked into one program: the variants must not interfere with each other.
#include <doctest/doctest.h>
#include <tvm/ffi/extra/cuda/cubin_launcher.h>
#include <tvm/ffi/extra/cuda/device_guard.h>

#include <optional>

#include "fake_cuda/fake_cuda.h"
#include "thrown.h"

TVM_FFI_EMBED_CUBIN(fake_linear);  // the bytes "FAKE add scale" in fake_cuda/images.cc
TVM_FFI_EMBED_CUBIN(fake_broken);  // "BROKEN"
static const unsigned char image_of_fill[] = "FAKE fill";
TVM_FFI_EMBED_CUBIN_FROM_BYTES(fake_fill, image_of_fill)

namespace {

using tvm::ffi::Bytes;
using tvm::ffi::CubinKernel;
using tvm::ffi::CubinModule;
using tvm::ffi::CUDADeviceGuard;
using Extent = tvm::ffi::dim3;
namespace cuda_api = tvm::ffi::cuda_api;

// Test names must differ between the APIs, because the file is compiled once for each API.
#if TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API
constexpr bool kIsDriver = true;
#define API "driver API: "
#else
constexpr bool kIsDriver = false;
#define API "runtime API: "
#endif

// A call whose function has a different name in the driver API and in the runtime API.
std::string Api(const char* driver, const char* runtime) { return kIsDriver ? driver : runtime; }
const std::string kLoad = Api("cuLibraryLoadData", "cudaLibraryLoadData");
const std::string kUnload = Api("cuLibraryUnload", "cudaLibraryUnload");
const std::string kGetKernel = Api("cuLibraryGetKernel", "cudaLibraryGetKernel");
const std::string kLaunch = Api("cuLaunchKernel", "cudaLaunchKernel");
const std::string kLaunchEx = Api("cuLaunchKernelEx", "cudaLaunchKernelExC");
const std::string kDeviceCount = Api("cuDeviceGetCount", "cudaGetDeviceCount");
const std::string kDeviceAttribute = Api("cuDeviceGetAttribute", "cudaDeviceGetAttribute");
const std::string kStaticShared = Api("cuKernelGetAttribute", "cudaFuncGetAttributes");
const std::string kSetShared = Api("cuKernelSetAttribute", "cudaKernelSetAttributeForDevice");

const std::string kInvalidValue = Api("CUDA Error: CUDA_ERROR_INVALID_VALUE (1): invalid argument",
                                      "CUDA Error: cudaErrorInvalidValue (1): invalid argument");
const std::string kNotFound =
    Api("CUDA Error: CUDA_ERROR_NOT_FOUND (500): named symbol not found",
        "CUDA Error: cudaErrorSymbolNotFound (500): named symbol not found");

std::string Joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "; ") + line;
  return text;
}
std::string Calls() { return Joined(fake_cuda::TakeCalls()); }

cuda_api::StreamHandle StreamAt(uintptr_t address) {
  return reinterpret_cast<cuda_api::StreamHandle>(address);
}

// ---- Status codes -----------------------------------------------------------------------------

TEST_CASE(API "extents default to one") {
  constexpr Extent none, one(5), two(5, 6), three(5, 6, 7);
  static_assert(none.x == 1 && none.y == 1 && none.z == 1, "");
  static_assert(one.x == 5 && one.y == 1 && one.z == 1, "");
  static_assert(two.x == 5 && two.y == 6 && two.z == 1, "");
  static_assert(three.x == 5 && three.y == 6 && three.z == 7, "");
  static_assert(!std::is_convertible_v<unsigned, Extent> && sizeof(Extent) == 12, "");
}

TEST_CASE(API "status of the runtime API is thrown") {
  CHECK_EQ(Thrown([] { TVM_FFI_CHECK_CUDA_ERROR(cudaSuccess); }), "");
  CHECK_EQ(Thrown([] { TVM_FFI_CHECK_CUDA_ERROR(cudaErrorInvalidValue); }),
           "RuntimeError: CUDA Runtime Error: cudaErrorInvalidValue (1): invalid argument");
  CHECK_EQ(Thrown([] { TVM_FFI_CHECK_CUDA_ERROR(static_cast<cudaError_t>(12345)); }),
           "RuntimeError: CUDA Runtime Error: unrecognized error code (12345): "
           "unrecognized error code");
}

TEST_CASE(API "status of the launchers API is thrown") {
  CHECK_EQ(Thrown([] { TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(cuda_api::kSuccess); }), "");
  CHECK_EQ(
      Thrown([] { TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(static_cast<cuda_api::ResultType>(1)); }),
      "RuntimeError: " + kInvalidValue);
  CHECK_EQ(Thrown([] {
             TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(static_cast<cuda_api::ResultType>(12345));
           }),
           "RuntimeError: CUDA Error: unrecognized error code (12345): unrecognized error code");
}

TEST_CASE(API "check macros are statements that evaluate their argument once") {
  int evaluations = 0;
  auto succeed = [&] { return ++evaluations, cudaSuccess; };
  auto succeed_too = [&] { return ++evaluations, cuda_api::kSuccess; };
  if (evaluations == 0)
    TVM_FFI_CHECK_CUDA_ERROR(succeed());
  else
    TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(succeed_too());
  CHECK_EQ(evaluations, 1);
  TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(succeed_too());
  CHECK_EQ(evaluations, 2);
}

TEST_CASE(API "errors name the file of the check") {
  try {
    TVM_FFI_CHECK_CUDA_ERROR(cudaErrorInvalidValue);
    CHECK(false);
  } catch (const tvm::ffi::Error& error) {
    CHECK(error.backtrace().find("cuda_test.cc") != std::string::npos);
  }
  try {
    TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(static_cast<cuda_api::ResultType>(1));
    CHECK(false);
  } catch (const tvm::ffi::Error& error) {
    CHECK(error.backtrace().find("cuda_test.cc") != std::string::npos);
  }
}

TEST_CASE(API "every status code has a message") {
  const char* name = nullptr;
  const char* text = nullptr;
  cuda_api::GetErrorString(static_cast<cuda_api::ResultType>(500), &name, &text);
  CHECK_EQ(name, Api("CUDA_ERROR_NOT_FOUND", "cudaErrorSymbolNotFound"));
  CHECK_EQ(std::string(text), "named symbol not found");
  cuda_api::GetErrorString(static_cast<cuda_api::ResultType>(12345), &name, &text);
  CHECK_EQ(std::string(name), "unrecognized error code");
  CHECK_EQ(std::string(text), "unrecognized error code");
}

// ---- CUDADeviceGuard --------------------------------------------------------------------------

TEST_CASE(API "the guard sets and restores the device") {
  fake_cuda::Reset();
  {
    CUDADeviceGuard guard(1);
    CHECK_EQ(fake_cuda::CurrentDevice(), 1);
    {
      CUDADeviceGuard inner(2);
      CHECK_EQ(fake_cuda::CurrentDevice(), 2);
    }
    CHECK_EQ(fake_cuda::CurrentDevice(), 1);
  }
  CHECK_EQ(fake_cuda::CurrentDevice(), 0);
  CHECK_EQ(Calls(),
           "cudaGetDevice(); cudaSetDevice(1); cudaGetDevice(); cudaSetDevice(2); "
           "cudaSetDevice(1); cudaSetDevice(0)");
}

TEST_CASE(API "the guard of the current device only reads it") {
  fake_cuda::Reset();
  fake_cuda::SetCurrentDevice(2);
  {
    CUDADeviceGuard guard(2);
  }
  CHECK_EQ(Calls(), "cudaGetDevice()");
}

TEST_CASE(API "the guard restores the device when the scope throws") {
  fake_cuda::Reset();
  CHECK_EQ(Thrown([] {
             CUDADeviceGuard guard(1);
             TVM_FFI_THROW(ValueError) << "inside";
           }),
           "ValueError: inside");
  CHECK_EQ(fake_cuda::CurrentDevice(), 0);
}

TEST_CASE(API "a guard that fails to construct changes nothing") {
  fake_cuda::Reset();
  fake_cuda::FailOnce("cudaSetDevice", 1);
  CHECK_EQ(Thrown([] { CUDADeviceGuard guard(1); }),
           "RuntimeError: CUDA Runtime Error: cudaErrorInvalidValue (1): invalid argument");
  CHECK_EQ(Calls(), "cudaGetDevice(); cudaSetDevice(1) -> 1");
  fake_cuda::FailOnce("cudaGetDevice", 1);
  CHECK_EQ(Thrown([] { CUDADeviceGuard guard(1); }),
           "RuntimeError: CUDA Runtime Error: cudaErrorInvalidValue (1): invalid argument");
  CHECK_EQ(Calls(), "cudaGetDevice() -> 1");
  CHECK_EQ(fake_cuda::CurrentDevice(), 0);
}

TEST_CASE(API "the guard throws when it cannot restore the device") {
  fake_cuda::Reset();
  bool was_inside = false;
  CHECK_EQ(Thrown([&] {
             CUDADeviceGuard guard(1);
             fake_cuda::FailOnce("cudaSetDevice", 1);
             was_inside = true;
           }),
           "RuntimeError: CUDA Runtime Error: cudaErrorInvalidValue (1): invalid argument");
  CHECK(was_inside);
}

TEST_CASE(API "the first error is kept when the guard cannot restore the device") {
  fake_cuda::Reset();
  CHECK_EQ(Thrown([] {
             CUDADeviceGuard guard(1);
             fake_cuda::FailOnce("cudaSetDevice", 1);
             TVM_FFI_THROW(ValueError) << "first";
           }),
           "ValueError: first");
  CHECK_EQ(Calls(), "cudaGetDevice(); cudaSetDevice(1); cudaSetDevice(0) -> 1");
}

TEST_CASE(API "guards are not copyable") {
  static_assert(!std::is_copy_constructible_v<CUDADeviceGuard>, "would restore twice");
  static_assert(!std::is_copy_assignable_v<CUDADeviceGuard>, "");
  static_assert(!std::is_convertible_v<int, CUDADeviceGuard>, "");
}

// ---- CubinModule ------------------------------------------------------------------------------

TEST_CASE(API "a module is loaded and unloaded once") {
  fake_cuda::Reset();
  {
    CubinModule module("FAKE add");
    CHECK(module.GetHandle() != nullptr);
    CHECK_EQ(Calls(), kLoad + "(image)");
  }
  CHECK_EQ(Calls(), kUnload + "(library)");
}

TEST_CASE(API "modules are created from each image type") {
  fake_cuda::Reset();
  int live = fake_cuda::LiveLibraries();
  {
    CubinModule from_object(Bytes("FAKE add", 9));
    CubinModule from_characters("FAKE add");
    CubinModule from_array(image_of_fill);
    CHECK_EQ(fake_cuda::LiveLibraries(), live + 3);
    CHECK(from_array["fill"].GetHandle() != nullptr);
  }
  CHECK_EQ(fake_cuda::LiveLibraries(), live);
}

TEST_CASE(API "an image that cannot be loaded throws") {
  fake_cuda::Reset();
  fake_cuda::FailOnce(kLoad.c_str(), 1);
  CHECK_EQ(Thrown([] { CubinModule module("FAKE add"); }), "RuntimeError: " + kInvalidValue);
  CHECK_EQ(Calls(), kLoad + "(image) -> 1");
}

TEST_CASE(API "unloading may fail") {
  fake_cuda::Reset();
  {
    CubinModule module("FAKE add");
    fake_cuda::FailOnce(kUnload.c_str(), 4);  // CUDA is already shut down
  }
  CHECK_EQ(Calls(), kLoad + "(image); " + kUnload + "(library) -> 4");
}

TEST_CASE(API "a moved module is unloaded once") {
  fake_cuda::Reset();
  {
    CubinModule first("FAKE add");
    cuda_api::LibraryHandle handle = first.GetHandle();
    CubinModule second(std::move(first));
    CHECK(first.GetHandle() == nullptr);
    CHECK(second.GetHandle() == handle);
  }
  CHECK_EQ(Calls(), kLoad + "(image); " + kUnload + "(library)");
}

TEST_CASE(API "assignment unloads the previous module") {
  fake_cuda::Reset();
  {
    CubinModule first("FAKE add");
    CubinModule second("FAKE scale");
    cuda_api::LibraryHandle handle = first.GetHandle();
    fake_cuda::TakeCalls();
    second = std::move(first);
    CHECK_EQ(Calls(), kUnload + "(library)");
    CHECK(first.GetHandle() == nullptr);
    CHECK(second.GetHandle() == handle);
    CHECK(second["add"].GetHandle() != nullptr);
    fake_cuda::TakeCalls();
  }
  CHECK_EQ(Calls(), kUnload + "(library)");
}

TEST_CASE(API "self assignment keeps the module") {
  fake_cuda::Reset();
  CubinModule module("FAKE add");
  CubinModule& same = module;
  module = std::move(same);
  CHECK(module.GetHandle() != nullptr);
  CHECK_EQ(Calls(), kLoad + "(image)");
}

TEST_CASE(API "modules and kernels are move only") {
  static_assert(!std::is_copy_constructible_v<CubinModule>, "would be unloaded twice");
  static_assert(!std::is_copy_assignable_v<CubinModule>, "");
  static_assert(std::is_nothrow_move_constructible_v<CubinModule>, "");
  static_assert(std::is_nothrow_move_assignable_v<CubinModule>, "");
  static_assert(std::is_nothrow_destructible_v<CubinModule>, "");
  static_assert(!std::is_copy_constructible_v<CubinKernel>, "");
  static_assert(!std::is_copy_assignable_v<CubinKernel>, "");
  static_assert(std::is_nothrow_move_constructible_v<CubinKernel>, "");
  static_assert(std::is_nothrow_move_assignable_v<CubinKernel>, "");
  static_assert(!std::is_convertible_v<const char*, CubinModule>, "");
  static_assert(!std::is_convertible_v<Bytes, CubinModule>, "");
}

// ---- CubinKernel ------------------------------------------------------------------------------

TEST_CASE(API "kernels are found by name") {
  fake_cuda::Reset();
  CubinModule module("FAKE add scale");
  fake_cuda::TakeCalls();
  CubinKernel add = module.GetKernel("add");
  CubinKernel scale = module["scale"];
  CubinKernel add_again(module.GetHandle(), "add");
  CHECK(add.GetHandle() != nullptr);
  CHECK(add.GetHandle() != scale.GetHandle());
  CHECK(add.GetHandle() == add_again.GetHandle());
  CHECK_EQ(Calls(), kGetKernel + "(add); " + kGetKernel + "(scale); " + kGetKernel + "(add)");
}

TEST_CASE(API "the error names an unknown kernel") {
  fake_cuda::Reset();
  CubinModule module("FAKE add");
  std::string expected = "RuntimeError: " + kNotFound + " (kernel `subtract`)";
  CHECK_EQ(Thrown([&] { module.GetKernel("subtract"); }), expected);
  CHECK_EQ(Thrown([&] { module["subtract"]; }), expected);
  CHECK_EQ(Thrown([&] { module.GetKernelWithMaxDynamicSharedMemory("subtract"); }), expected);
}

TEST_CASE(API "a moved-from module has no kernels") {
  fake_cuda::Reset();
  CubinModule module("FAKE add");
  CubinModule other(std::move(module));
  CHECK_EQ(Thrown([&] { module.GetKernel("add"); }),
           "RuntimeError: CUDA Error: unrecognized error code (400): unrecognized error code "
           "(kernel `add`)");
}

TEST_CASE(API "launch passes all arguments on") {
  fake_cuda::Reset();
  CubinModule module("FAKE add scale");
  CubinKernel kernel = module["scale"];
  int value = 3;
  void* args[] = {&value};
  CHECK_EQ(kernel.Launch(args, Extent(1, 2, 3), Extent(4, 5, 6), StreamAt(0x77), 8192),
           cuda_api::kSuccess);
  CHECK_EQ(kernel.Launch(args, Extent(7), Extent(8), nullptr), cuda_api::kSuccess);
  CHECK_EQ(fake_cuda::Launches().size(), 2u);
  const fake_cuda::Launch& launch = fake_cuda::Launches()[0];
  CHECK_EQ(launch.kernel, "scale");
  CHECK((launch.grid[0] == 1 && launch.grid[1] == 2 && launch.grid[2] == 3));
  CHECK((launch.block[0] == 4 && launch.block[1] == 5 && launch.block[2] == 6));
  CHECK_EQ(launch.shared_mem_bytes, 8192u);
  CHECK_EQ(launch.stream, reinterpret_cast<void*>(0x77));
  CHECK(launch.args == args);
  const fake_cuda::Launch& plain = fake_cuda::Launches()[1];
  CHECK((plain.grid[0] == 7 && plain.grid[1] == 1 && plain.grid[2] == 1));
  CHECK((plain.block[0] == 8 && plain.block[1] == 1 && plain.block[2] == 1));
  CHECK_EQ(plain.shared_mem_bytes, 0u);
  CHECK(plain.stream == nullptr);
}

TEST_CASE(API "launch returns the status") {
  fake_cuda::Reset();
  CubinModule module("FAKE add");
  CubinKernel kernel = module["add"];
  fake_cuda::FailOnce(kLaunch.c_str(), 701);
  CHECK_EQ(kernel.Launch(nullptr, Extent(1), Extent(1), nullptr), 701);
  fake_cuda::FailOnce(kLaunchEx.c_str(), 701);
  CHECK_EQ(kernel.LaunchEx(nullptr, cuda_api::LaunchConfig{}), 701);
}

TEST_CASE(API "launch with a cluster") {
  fake_cuda::Reset();
  CubinModule module("FAKE add");
  CubinKernel kernel = module["add"];
  cuda_api::LaunchConfig config;
  cuda_api::LaunchAttrType attribute;
  std::memset(static_cast<void*>(&config), 0x5a, sizeof(config));
  std::memset(static_cast<void*>(&attribute), 0x5a, sizeof(attribute));
  CHECK_EQ(cuda_api::ConstructLaunchConfig(kernel.GetHandle(), StreamAt(0x99), 64, Extent(8, 2, 3),
                                           Extent(4, 5, 6), 4, config, attribute),
           cuda_api::kSuccess);
  int value = 3;
  void* args[] = {&value};
  CHECK_EQ(kernel.LaunchEx(args, config), cuda_api::kSuccess);
  CHECK_EQ(fake_cuda::Launches().size(), 1u);
  const fake_cuda::Launch& launch = fake_cuda::Launches()[0];
  CHECK_EQ(launch.kernel, "add");
  CHECK((launch.grid[0] == 8 && launch.grid[1] == 2 && launch.grid[2] == 3));
  CHECK((launch.block[0] == 4 && launch.block[1] == 5 && launch.block[2] == 6));
  CHECK_EQ(launch.shared_mem_bytes, 64u);
  CHECK_EQ(launch.stream, reinterpret_cast<void*>(0x99));
  CHECK(launch.args == args);
  CHECK((launch.cluster[0] == 4 && launch.cluster[1] == 1 && launch.cluster[2] == 1));
}

TEST_CASE(API "a launch config without a cluster has no attributes") {
  cuda_api::LaunchConfig config;
  std::memset(static_cast<void*>(&config), 0x5a, sizeof(config));
  cuda_api::LaunchAttrType attribute;
  cuda_api::ConstructLaunchConfig(nullptr, nullptr, 0, Extent(8), Extent(4), 1, config, attribute);
  CHECK_EQ(config.numAttrs, 0u);
  CHECK(config.attrs == nullptr);
}

TEST_CASE(API "moved kernels are empty") {
  fake_cuda::Reset();
  CubinModule module("FAKE add scale");
  CubinKernel add = module["add"];
  CubinKernel scale = module["scale"];
  cuda_api::KernelHandle handle = add.GetHandle();
  CubinKernel moved(std::move(add));
  CHECK(add.GetHandle() == nullptr);
  CHECK(moved.GetHandle() == handle);
  scale = std::move(moved);
  CHECK(moved.GetHandle() == nullptr);
  CHECK(scale.GetHandle() == handle);
  CubinKernel& same = scale;
  scale = std::move(same);
  CHECK(scale.GetHandle() == handle);
  CHECK_EQ(moved.Launch(nullptr, Extent(1), Extent(1), nullptr), 400);
}

// ---- Dynamic shared memory --------------------------------------------------------------------

// The recorded calls for one device; 97 is the number of the device attribute, 8 that of the kernel
// attribute.
std::string AskDevice(int device) {
  std::string number = std::to_string(device);
  return "; " + (kIsDriver ? "cuDeviceGet(" + number + "); " : "") + kDeviceAttribute + "(97, " +
         number + "); " +
         (kIsDriver ? kStaticShared + "(1, add, " + number : kStaticShared + "(add") + ")";
}
std::string SetLimit(int limit, int device) {
  return "; " + kSetShared + "(add, 8, " + std::to_string(limit) + ", " + std::to_string(device) +
         ")";
}

TEST_CASE(API "the maximum is the limit less static shared memory") {
  fake_cuda::Reset();
  CubinModule module("FAKE add");
  for (fake_cuda::Device& device : fake_cuda::Devices()) device.kernel_shared = 100;
  fake_cuda::Devices()[2].shared_memory_optin = 60;
  fake_cuda::TakeCalls();
  CubinKernel kernel = module.GetKernelWithMaxDynamicSharedMemory("add");
  CHECK(kernel.GetHandle() != nullptr);
  CHECK_EQ(Calls(), kGetKernel + "(add); " + kDeviceCount + "()" + AskDevice(0) + SetLimit(900, 0) +
                        AskDevice(1) + SetLimit(900, 1) + AskDevice(2) + SetLimit(0, 2));
}

TEST_CASE(API "a given maximum is set on each device") {
  fake_cuda::Reset();
  CubinModule module("FAKE add");
  fake_cuda::TakeCalls();
  module.GetKernelWithMaxDynamicSharedMemory("add", 512);
  std::string expected = kGetKernel + "(add); " + kDeviceCount + "()";
  for (int device = 0; device < 3; ++device) {
    if (kIsDriver) expected += "; cuDeviceGet(" + std::to_string(device) + ")";
    expected += SetLimit(512, device);
  }
  CHECK_EQ(Calls(), expected);
  CHECK_EQ(fake_cuda::CurrentDevice(), 0);
}

TEST_CASE(API "devices that refuse are skipped") {
  for (const std::string& call : {kDeviceAttribute, kStaticShared, kSetShared}) {
    fake_cuda::Reset();
    CubinModule module("FAKE add");
    fake_cuda::FailOnce(call.c_str(), 1, 0);
    fake_cuda::FailOnce(call.c_str(), 1, 1);
    fake_cuda::TakeCalls();
    module.GetKernelWithMaxDynamicSharedMemory("add");
    std::string calls = Calls();
    size_t last_set = calls.rfind(kSetShared);
    CHECK_EQ(calls.substr(last_set), kSetShared + "(add, 8, 1000, 2)");
  }
}

TEST_CASE(API "a kernel that no device supports is an error") {
  std::string expected =
      "RuntimeError: Failed to set dynamic shared memory attribute for any device "
      "(kernel `add`, 512 bytes, 3 devices)";
  fake_cuda::Reset();
  CubinModule module("FAKE add");
  for (int i = 0; i < 3; ++i) fake_cuda::FailOnce(kSetShared.c_str(), 1, i);
  CHECK_EQ(Thrown([&] { module.GetKernelWithMaxDynamicSharedMemory("add", 512); }), expected);
  fake_cuda::Devices().clear();
  CHECK_EQ(Thrown([&] { module.GetKernelWithMaxDynamicSharedMemory("add"); }),
           "RuntimeError: Failed to set dynamic shared memory attribute for any device "
           "(kernel `add`, -1 bytes, 0 devices)");
}

TEST_CASE(API "errors during the device search are thrown") {
  fake_cuda::Reset();
  CubinModule module("FAKE add");
  fake_cuda::FailOnce(kDeviceCount.c_str(), 1);
  CHECK_EQ(Thrown([&] { module.GetKernelWithMaxDynamicSharedMemory("add"); }),
           "RuntimeError: " + kInvalidValue);
  if (!kIsDriver) return;
  fake_cuda::FailOnce("cuDeviceGet", 1);
  CHECK_EQ(Thrown([&] { module.GetKernelWithMaxDynamicSharedMemory("add"); }),
           "RuntimeError: " + kInvalidValue);
}

TEST_CASE(API "invalid sizes are rejected") {
  fake_cuda::Reset();
  CubinModule module("FAKE add");
  CHECK_EQ(Thrown([&] { module.GetKernelWithMaxDynamicSharedMemory("add", -2); }),
           "ValueError: dynamic shared memory of kernel `add` must be -1 or 0 to 2147483647 bytes, "
           "got -2");
  CHECK_EQ(Thrown([&] {
             module.GetKernelWithMaxDynamicSharedMemory("add", 4294967296 + 512);
           }).substr(0, 11),
           "ValueError:");
  CHECK(Calls().find(kSetShared) == std::string::npos);
}

TEST_CASE(API "kernels report their static shared memory") {
  fake_cuda::Reset();
  CubinModule module("FAKE add");
  CubinKernel kernel = module["add"];
  fake_cuda::Devices()[0].kernel_shared = 48;
  int bytes = -1;
  CHECK_EQ(cuda_api::GetKernelSharedMem(kernel.GetHandle(), bytes, cuda_api::GetDeviceHandle(0)),
           cuda_api::kSuccess);
  CHECK_EQ(bytes, 48);
  fake_cuda::FailOnce(kStaticShared.c_str(), 1);
  bytes = -1;
  CHECK_EQ(cuda_api::GetKernelSharedMem(kernel.GetHandle(), bytes, cuda_api::GetDeviceHandle(0)),
           1);
  CHECK_EQ(bytes, -1);
}

TEST_CASE(API "devices are found by number") {
  fake_cuda::Reset();
  int count = 0;
  CHECK_EQ(cuda_api::GetDeviceCount(&count), cuda_api::kSuccess);
  CHECK_EQ(count, 3);
  CHECK_EQ(cuda_api::GetDeviceHandle(2), 2);
  int value = 0;
  CHECK_EQ(cuda_api::GetDeviceAttribute(&value, static_cast<cuda_api::DeviceAttrType>(97), 1),
           cuda_api::kSuccess);
  CHECK_EQ(value, 1000);
  CHECK_EQ(Thrown([] { cuda_api::GetDeviceHandle(9); }),
           kIsDriver ? "RuntimeError: CUDA Error: unrecognized error code (101): "
                       "unrecognized error code"
                     : "");
}

// ---- Embedded images --------------------------------------------------------------------------

TEST_CASE(API "an embedded image is loaded on first use") {
  fake_cuda::Reset();
  auto first = [] { return TVM_FFI_EMBED_CUBIN_GET_KERNEL(fake_linear, "add").GetHandle(); };
  CHECK(first() != nullptr);
  CHECK_EQ(Calls(), kLoad + "(image); " + kGetKernel + "(add)");
  static auto scale = TVM_FFI_EMBED_CUBIN_GET_KERNEL(fake_linear, "scale");
  CHECK_EQ(scale.Launch(nullptr, Extent(1), Extent(1), nullptr), cuda_api::kSuccess);
  CHECK_EQ(Calls(), kGetKernel + "(scale); " + kLaunch + "(scale)");
  CHECK(EmbedCubinModule_fake_linear::Global() == EmbedCubinModule_fake_linear::Global());
  CHECK(EmbedCubinModule_fake_linear::Global()->mod.GetHandle() != nullptr);
}

TEST_CASE(API "an embedded array is loaded on first use") {
  fake_cuda::Reset();
  auto kernel = TVM_FFI_EMBED_CUBIN_GET_KERNEL(fake_fill, "fill");
  CHECK(kernel.GetHandle() != nullptr);
  CHECK_EQ(Calls(), kLoad + "(image); " + kGetKernel + "(fill)");
}

TEST_CASE(API "loading an embedded image is retried after a failure") {
  fake_cuda::Reset();
  for (int i = 0; i < 2; ++i) {
    CHECK_EQ(Thrown([] { TVM_FFI_EMBED_CUBIN_GET_KERNEL(fake_broken, "add"); }),
             "RuntimeError: CUDA Error: unrecognized error code (200): unrecognized error code");
    CHECK_EQ(Calls(), kLoad + "(image) -> 200");
  }
}

}  // namespace
