// SPDX-License-Identifier: Apache-2.0
// CUDA modules on the stand-in driver: driver calls, their order, and clean-up when the driver
// returns an error.
#include <doctest/doctest.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>

#include <cstring>

#include "../runtime/threads.h"
#include "cuda_module_setting.h"
#include "thrown.h"

namespace {

using namespace setting;  // NOLINT(*)

const Array<Any> kScale = Kernel("scale", {"x: float32*", "n: int32"}, {"gridDim", "blockDim"});

// Unloads all modules, so that the next test starts without any.
void CheckNothingIsLeft() {
  CHECK_EQ(fake_driver_live_images(), 0);
  CHECK_EQ(fake_driver_live_contexts(), 0);
  fake_driver_reset();
}

}  // namespace

TEST_CASE("creating a module does not need the driver") {
  fake_driver_reset();
  Module module = Create({kScale});
  Function scale = Get(module, "scale");
  CHECK_EQ(Joined(TakeCalls()), "");
  CHECK_EQ(std::string(module->kind()), "cuda_driver");
  CHECK_EQ(module->GetPropertyMask(), 3);
  CHECK(!module->GetFunction("other").has_value());
  CHECK(module->ImplementsFunction("scale"));
  CHECK(!module->ImplementsFunction("other"));
  CHECK_EQ(module->GetFunctionDoc("scale").value(),
           "scale(x: float32*, n: int32, gridDim, blockDim)");
  CHECK(!module->GetFunctionDoc("other").has_value());
  CHECK_EQ(
      module->GetFunctionMetadata("scale").value(),
      R"({"type_schema":"{\"type\":\"ffi.Function\",\"named_args\":{\"return\":[{\"type\":)"
      R"(\"None\"}],\"params\":[{\"type\":\"Variant\",\"args\":[{\"type\":\"DLTensor*\"},)"
      R"({\"type\":\"void*\"},{\"type\":\"None\"}]},{\"type\":\"int\"},{\"type\":\"Variant\",)"
      R"(\"args\":[{\"type\":\"int\"},{\"type\":\"ffi.Array\",\"args\":[{\"type\":\"int\"}]}]},)"
      R"({\"type\":\"Variant\",\"args\":[{\"type\":\"int\"},{\"type\":\"ffi.Array\",)"
      R"(\"args\":[{\"type\":\"int\"}]}]}]}}",)"
      R"("signature":"scale(x: unknown ctypes.c_void_p | Tensor | None, n: int, )"
      R"~(gridDim: int | Array[int], blockDim: int | Array[int])","checked":true})~");
  CHECK(!module->GetFunctionMetadata("other").has_value());
}

TEST_CASE("the first call on a device loads the image there") {
  fake_driver_reset();
  {
    Function scale = Get(Create({kScale}), "scale");
    Vector x(1);
    scale(x.get(), 4, 2, 128);
    CHECK_EQ(Joined(TakeCalls()),
             "cuDeviceGet(1)\n"
             "cuThreadExchangeStreamCaptureMode(2)\n"
             "cuDevicePrimaryCtxRetain(1)\n"
             "cuCtxGetCurrent(none)\n"
             "cuCtxSetCurrent(1)\n"
             "cuModuleLoadDataEx(1)\n"
             "cuCtxSetCurrent(none)\n"
             "cuThreadExchangeStreamCaptureMode(0)\n"
             "cuCtxGetCurrent(none)\n"
             "cuCtxSetCurrent(1)\n"
             "cuThreadExchangeStreamCaptureMode(2)\n"
             "cuModuleGetFunction(scale on 1)\n"
             "cuThreadExchangeStreamCaptureMode(0)\n"
             "cuLaunchKernel(scale on 1, grid 2 1 1, block 128 1 1, 0 bytes, stream 0)\n"
             "cuCtxSetCurrent(none)\n");
    scale(x.get(), 4, 3, 64);
    CHECK_EQ(Joined(TakeCalls()),
             "cuCtxGetCurrent(none)\n"
             "cuCtxSetCurrent(1)\n"
             "cuLaunchKernel(scale on 1, grid 3 1 1, block 64 1 1, 0 bytes, stream 0)\n"
             "cuCtxSetCurrent(none)\n");
  }
  // The function held the last reference to the module.
  CHECK_EQ(Joined(TakeCalls()),
           "cuCtxGetCurrent(none)\n"
           "cuThreadExchangeStreamCaptureMode(2)\n"
           "cuCtxSetCurrent(1)\n"
           "cuModuleUnload(1)\n"
           "cuCtxSetCurrent(none)\n"
           "cuDevicePrimaryCtxRelease(1)\n"
           "cuThreadExchangeStreamCaptureMode(0)\n");
  CheckNothingIsLeft();
}

TEST_CASE("each device loads the image once") {
  fake_driver_reset();
  {
    Module module = Create({kScale});
    Vector on_0(0), on_1(1);
    for (int i = 0; i < 3; ++i) {
      Get(module, "scale")(on_0.get(), 4, 1, 1);
      Get(module, "scale")(on_1.get(), 4, 1, 1);
    }
    CHECK_EQ(Joined(Only("cuModuleLoad")), "cuModuleLoadDataEx(0)\ncuModuleLoadDataEx(1)\n");
    CHECK_EQ(fake_driver_live_contexts(), 2);
    CHECK_EQ(fake_driver_live_images(), 2);
  }
  CheckNothingIsLeft();
}

TEST_CASE("the previously current context is restored") {
  fake_driver_reset();
  fake_driver_use_another_context();
  {
    Function scale = Get(Create({kScale}), "scale");
    Vector x;
    scale(x.get(), 4, 1, 1);
    CHECK_EQ(fake_driver_current_context(), 100);
    fake_driver_fail("cuLaunchKernel", 719, 0);
    CHECK(!Thrown([&] { scale(x.get(), 4, 1, 1); }).empty());
    CHECK_EQ(fake_driver_current_context(), 100);
  }
  CHECK_EQ(fake_driver_current_context(), 100);
  CheckNothingIsLeft();
}

TEST_CASE("nothing changes when the right context is current") {
  fake_driver_reset();
  {
    Function nop = Get(Create({Kernel("nop", {}, {"gridDim.x"}, {}, "scale")}), "nop");
    nop(1);
    TakeCalls();
    // Simulates a program that itself uses the primary context.
    Vector x;
    Function probe = Get(Create({kScale}), "scale");
    struct Seen {
      Function* nop;
      std::string calls;
    } seen{&nop, ""};
    fake_driver_on_launch(
        [](const FakeLaunch*, void* data) {
          fake_driver_on_launch(nullptr, nullptr);
          TakeCalls();
          (*static_cast<Seen*>(data)->nop)(1);
          static_cast<Seen*>(data)->calls = Joined(TakeCalls());
        },
        &seen);
    probe(x.get(), 4, 1, 1);
    CHECK_EQ(seen.calls,
             "cuCtxGetCurrent(0)\n"  // determines the device of a kernel without tensors
             "cuCtxGetDevice(0)\n"
             "cuCtxGetCurrent(0)\n"
             "cuLaunchKernel(scale on 0, grid 1 1 1, block 1 1 1, 0 bytes, stream 0)\n");
  }
  CheckNothingIsLeft();
}

TEST_CASE("values are converted to the parameter types of the kernel") {
  fake_driver_reset();
  {
    Function all =
        Get(Create({Kernel("all",
                           {"float32*", "void*", "void*", "int8", "int16", "int32", "int64",
                            "uint8", "uint32", "uint64", "bool", "float32", "float64", "float32[]"},
                           {"gridDim"}, {{"blockDim.x", 32}}, "all_types")}),
            "all");
    Vector x, y;
    x.tensor.byte_offset = 8;
    struct Seen {
      Vector *x, *y;
      int count = 0;
    } seen{&x, &y};
    fake_driver_on_launch(
        [](const FakeLaunch* launch, void* data) {
          auto* seen = static_cast<Seen*>(data);
          auto read = [&](int i, auto value) {
            std::memcpy(&value, launch->params[i], sizeof(value));
            return value;
          };
          void* none = nullptr;
          CHECK(read(0, none) == &seen->x->elements[2]);
          CHECK(read(1, none) == nullptr);
          CHECK_EQ(reinterpret_cast<uintptr_t>(read(2, none)), 0x1230);
          CHECK_EQ(read(3, int8_t{}), -128);
          CHECK_EQ(read(4, int16_t{}), 32767);
          CHECK_EQ(read(5, int32_t{}), -5);
          CHECK_EQ(read(6, int64_t{}), INT64_MIN);
          CHECK_EQ(read(7, uint8_t{}), 255);
          CHECK_EQ(read(8, uint32_t{}), 4294967295u);
          CHECK_EQ(read(9, uint64_t{}), uint64_t{INT64_MAX});
          CHECK_EQ(read(10, uint8_t{}), 1);
          CHECK_EQ(read(11, float{}), 1.5f);
          CHECK_EQ(read(12, double{}), 3.0);
          CHECK(read(13, none) == seen->y->elements);
          ++seen->count;
        },
        &seen);
    all(x.get(), nullptr, reinterpret_cast<void*>(0x1230), -128, 32767, -5, INT64_MIN, 255,
        4294967295, INT64_MAX, 7, 1.5, 3, y.get(), 1);
    CHECK_EQ(seen.count, 1);
    CHECK_EQ(Only("cuLaunch").back(),
             "cuLaunchKernel(all_types on 0, grid 1 1 1, block 32 1 1, 0 bytes, stream 0)");
  }
  CheckNothingIsLeft();
}

TEST_CASE("kernels may have many parameters") {
  fake_driver_reset();
  {
    Texts types(100, "int32");
    Function many = Get(Create({Kernel("many", types, {}, {}, "scale")}), "many");
    std::vector<AnyView> args;
    for (int i = 0; i < 100; ++i) args.emplace_back(i);
    int64_t sum = 0;
    fake_driver_on_launch(
        [](const FakeLaunch* launch, void* data) {
          for (int i = 0; i < 100; ++i) {
            *static_cast<int64_t*>(data) += *static_cast<int32_t*>(launch->params[i]);
          }
        },
        &sum);
    Any result;
    many.CallPacked(args.data(), 100, &result);
    CHECK_EQ(sum, 4950);
    CHECK(result == nullptr);
  }
  CheckNothingIsLeft();
}

TEST_CASE("kernels run on the stream of the tensor's device") {
  fake_driver_reset();
  TVMFFIStreamHandle before = nullptr;
  CHECK_EQ(TVMFFIEnvSetStream(kDLCUDA, 1, reinterpret_cast<void*>(0x77), &before), 0);
  {
    Function scale = Get(Create({kScale}), "scale");
    Vector on_0(0), on_1(1);
    scale(on_0.get(), 4, 1, 1);
    scale(on_1.get(), 4, 1, 1);
    CHECK_EQ(Joined(Only("cuLaunch")),
             "cuLaunchKernel(scale on 0, grid 1 1 1, block 1 1 1, 0 bytes, stream 0)\n"
             "cuLaunchKernel(scale on 1, grid 1 1 1, block 1 1 1, 0 bytes, stream 0x77)\n");
  }
  CHECK_EQ(TVMFFIEnvSetStream(kDLCUDA, 1, before, nullptr), 0);
  CheckNothingIsLeft();
}

TEST_CASE("launch arguments may be separate or one tuple") {
  fake_driver_reset();
  {
    Module module = Create({
        Kernel("groups", {}, {"blockDim", "gridDim"}, {}, "scale"),
        Kernel("single", {}, {"gridDim.y", "blockDim.z", "dynamicSharedMemory"},
               {{"gridDim.x", 5}, {"blockDim.x", 2}}, "scale"),
        Kernel("tvm", {}, {"blockIdx.x", "threadIdx.x", "tir.use_dyn_shared_memory"}, {}, "scale"),
        Kernel("clusters", {}, {"gridDim", "clusterDim.x"}, {{"blockDim.x", 64}}, "scale"),
    });
    Get(module, "groups")(Shape({1, 2, 3}), Array<int>({4, 5}));
    Get(module, "groups")(List<int>({6}), 7);
    Get(module, "single")(3, 4, 100);
    Get(module, "tvm")(9, 10, 200);
    Get(module, "clusters")(8, 2);
    CHECK_EQ(Joined(Only("cuLaunch")),
             "cuLaunchKernel(scale on 0, grid 4 5 1, block 1 2 3, 0 bytes, stream 0)\n"
             "cuLaunchKernel(scale on 0, grid 7 1 1, block 6 1 1, 0 bytes, stream 0)\n"
             "cuLaunchKernel(scale on 0, grid 5 3 1, block 2 1 4, 100 bytes, stream 0)\n"
             "cuLaunchKernel(scale on 0, grid 9 1 1, block 10 1 1, 200 bytes, stream 0)\n"
             "cuLaunchKernelEx(scale on 0, grid 8 1 1, block 64 1 1, 0 bytes, stream 0, "
             "cluster 2 1 1)\n");
  }
  CheckNothingIsLeft();
}

TEST_CASE("the shared-memory attribute is set only when the size grows") {
  fake_driver_reset();
  {
    Function f = Get(Create({Kernel("f", {}, {"dynamicSharedMemory"}, {}, "scale")}), "f");
    for (int bytes : {0, 1000, 100000, 50000, 100000, 200000}) f(bytes);
    CHECK_EQ(Joined(Only("cuFunc")),
             "cuFuncSetAttribute(scale, 8, 1000)\n"
             "cuFuncSetAttribute(scale, 8, 100000)\n"
             "cuFuncSetAttribute(scale, 8, 200000)\n");
    CHECK_EQ(Thrown([&] { f(300000); }),
             "RuntimeError: CUDA driver: cuFuncSetAttribute failed for kernel `scale` on cuda:0 "
             "with 300000 bytes of dynamic shared memory: CUDA_ERROR_INVALID_VALUE (1): "
             "a description");
    f(200000);
  }
  CheckNothingIsLeft();
}

TEST_CASE("every driver error is reported and cleaned up") {
  struct Row {
    const char* function;
    int status;
    int skip;
    const char* message;
  };
  const Row rows[] = {
      {"cuDeviceGet", 101, 0,
       "cuDeviceGet failed on cuda:0: CUDA_ERROR_INVALID_DEVICE (101): "
       "a description"},
      {"cuDevicePrimaryCtxRetain", 2, 0,
       "cuDevicePrimaryCtxRetain failed on cuda:0: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory"},
      {"cuModuleLoadDataEx", 200, 0,
       "cuModuleLoadDataEx failed on cuda:0: CUDA_ERROR_INVALID_IMAGE (200): a description"},
      {"cuModuleGetFunction", 500, 0,
       "cuModuleGetFunction failed for kernel `scale` on cuda:0: CUDA_ERROR_NOT_FOUND (500): "
       "named symbol not found"},
      {"cuLaunchKernel", 12345, 0,
       "cuLaunchKernel failed for kernel `scale` on cuda:0 with grid (1, 1, 1), block (2, 1, 1), "
       "0 bytes of dynamic shared memory: unknown error (12345): no description"},
      {"cuCtxGetCurrent", 2, 0,
       "cuCtxGetCurrent failed: CUDA_ERROR_OUT_OF_MEMORY (2): "
       "out of memory"},
      {"cuCtxSetCurrent", 2, 0,
       "cuCtxSetCurrent failed: CUDA_ERROR_OUT_OF_MEMORY (2): "
       "out of memory"},
      {"cuCtxSetCurrent", 2, 1,
       "cuCtxSetCurrent failed while restoring the previous context: "
       "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory"},
  };
  for (const Row& row : rows) {
    fake_driver_reset();
    {
      Function scale = Get(Create({kScale}), "scale");
      Vector x;
      fake_driver_fail(row.function, row.status, row.skip);
      CHECK_EQ(Thrown([&] { scale(x.get(), 4, 1, 2); }),
               std::string("RuntimeError: CUDA driver: ") + row.message);
      fake_driver_reset();
      scale(x.get(), 4, 1, 2);  // the failed call is repeated
      CHECK_EQ(Only("cuLaunch").size(), 1);
      CHECK_EQ(fake_driver_live_images(), 1);
      CHECK_EQ(fake_driver_live_contexts(), 1);
    }
    CheckNothingIsLeft();
  }
}

TEST_CASE("messages of the PTX compiler are quoted") {
  fake_driver_reset();
  std::string ptx = std::string(kPtx) + "bad instruction\n";
  Function scale = Get(Create({kScale}, ptx), "scale");
  Vector x;
  CHECK_EQ(Thrown([&] { scale(x.get(), 4, 1, 1); }),
           "RuntimeError: CUDA driver: cuModuleLoadDataEx failed on cuda:0: "
           "CUDA_ERROR_INVALID_PTX (218): a description\nptxas: line 3; bad instruction");
  CheckNothingIsLeft();
}

TEST_CASE("a module that outlives the driver makes no driver calls") {
  fake_driver_reset();
  {
    Function scale = Get(Create({kScale}), "scale");
    Vector x;
    scale(x.get(), 4, 1, 1);
    TakeCalls();
    fake_driver_shut_down();
  }
  CHECK_EQ(Joined(TakeCalls()), "cuCtxGetCurrent(none) -> 4\n");
  CHECK_EQ(fake_driver_live_images(), 1);
}

// Concurrent first calls may load several copies of the image; one copy remains.
TEST_CASE("threads share one image per device") {
  fake_driver_reset();
  int contexts = fake_driver_live_contexts(), images = fake_driver_live_images();
  {
    Module module = Create({kScale, Kernel("f", {"void*"}, {"dynamicSharedMemory"}, {}, "scale")});
    RunTogether(8, [&](int thread) {
      Function scale = Get(module, "scale"), f = Get(module, "f");
      Vector x(thread % 2);
      for (int i = 0; i < 200; ++i) {
        scale(x.get(), 4, 1, 1);
        f(x.get(), 1000 * ((thread + i) % 60));
      }
    });
    std::vector<std::string> calls = TakeCalls();
    size_t loads = 0, unloads = 0, launches = 0, failures = 0;
    for (const std::string& call : calls) {
      loads += call.rfind("cuModuleLoad", 0) == 0;
      unloads += call.rfind("cuModuleUnload", 0) == 0;
      launches += call.rfind("cuLaunchKernel", 0) == 0;
      failures += call.find(" -> ") != std::string::npos;
    }
    CHECK_EQ(loads - unloads, 2);
    CHECK_EQ(fake_driver_live_images(), images + 2);
    CHECK_EQ(launches, 3200);
    CHECK_EQ(failures, 0);
  }
  CHECK_EQ(fake_driver_live_contexts(), contexts);
  CHECK_EQ(fake_driver_live_images(), images);
}
