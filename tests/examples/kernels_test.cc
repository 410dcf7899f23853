// SPDX-License-Identifier: Apache-2.0
// Kernels of examples/, called through their C symbols: they write exactly the elements of the
// output for every supported layout, and their errors name the refused argument.
#include <doctest/doctest.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

#include <cstdint>
#include <vector>

#include "raised.h"
#include "values.h"

extern "C" {
int __tvm_ffi_add_one(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result);
int __tvm_ffi_add_one_cpu(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result);
}

namespace {

// A float32 CPU vector in memory that this object owns.
struct Vector : DLTensor {
  Vector(float* memory, int64_t size, int64_t stride) : extent(size), step(stride) {
    data = memory;
    device = {kDLCPU, 0};
    ndim = 1;
    dtype = {kDLFloat, 32, 1};
    shape = &extent;
    strides = &step;
    byte_offset = 0;
  }
  Vector(const Vector&) = delete;

  TVMFFIAny view() const { return Pointer(kTVMFFIDLTensorPtr, static_cast<const DLTensor*>(this)); }

  int64_t extent;
  int64_t step;
};

int Call(TVMFFISafeCallType kernel, const TVMFFIAny& x, const TVMFFIAny& y) {
  TVMFFIAny args[] = {x, y};
  TVMFFIAny result = GarbageAny();
  int code = kernel(nullptr, args, 2, &result);
  // Calls the kernel, which must write all 16 bytes of the result on success, and none on failure.
  CHECK(SameBytes(result, code == 0 ? None() : GarbageAny()));
  return code;
}

// Checks y, which is zeros before the call, after a call with x = {1, 2, 3}.
void CheckWrites(TVMFFISafeCallType kernel, const DLTensor& changed_x) {
  float values[] = {0, 0, 0};
  Vector y(values, 3, 1);
  CHECK_EQ(Call(kernel, Pointer(kTVMFFIDLTensorPtr, &changed_x), y.view()), 0);
  CHECK((std::vector<float>(values, values + 3) == std::vector<float>{2, 3, 4}));
}

constexpr TVMFFISafeCallType kKernels[] = {__tvm_ffi_add_one, __tvm_ffi_add_one_cpu};

}  // namespace

TEST_CASE("kernels use strides and byte offset of a view") {
  for (TVMFFISafeCallType kernel : kKernels) {
    float values[] = {9, 1, 2, 3};
    Vector x(values, 3, 1);
    x.byte_offset = sizeof(float);
    CheckWrites(kernel, x);
    x.strides = nullptr;  // means compact before DLPack 1.2
    CheckWrites(kernel, x);
  }
  float spread[] = {1, 9, 2, 9, 3}, backwards[] = {3, 2, 1};
  Vector every_other(spread, 3, 2), reversed(backwards + 2, 3, -1);
  CheckWrites(__tvm_ffi_add_one_cpu, every_other);
  CheckWrites(__tvm_ffi_add_one_cpu, reversed);
  TVMFFIAny y = every_other.view();
  CHECK_RAISES(Call(__tvm_ffi_add_one, y, y), "ValueError",
               "add_one(x, y): `x` must be compact, got stride 2");
}

TEST_CASE("kernels write only the elements of the output") {
  float source[] = {1, 2, 3}, target[] = {9, 0, 9, 0, 9, 0, 9};
  Vector x(source, 3, 1), y(target, 3, 2);
  y.byte_offset = sizeof(float);
  CHECK_EQ(Call(__tvm_ffi_add_one_cpu, x.view(), y.view()), 0);
  CHECK((std::vector<float>(target, target + 7) == std::vector<float>{9, 2, 9, 3, 9, 4, 9}));
}

TEST_CASE("input and output may be the same tensor") {
  for (TVMFFISafeCallType kernel : kKernels) {
    float values[] = {1, 2, 3};
    Vector x(values, 3, 1);
    CHECK_EQ(Call(kernel, x.view(), x.view()), 0);
    CHECK((std::vector<float>(values, values + 3) == std::vector<float>{2, 3, 4}));
  }
}

TEST_CASE("empty tensors may have a NULL address") {
  for (TVMFFISafeCallType kernel : kKernels) {
    Vector empty(nullptr, 0, 1);
    CHECK_EQ(Call(kernel, empty.view(), empty.view()), 0);
  }
}

TEST_CASE("kernels accept Tensor objects") {
  for (TVMFFISafeCallType kernel : kKernels) {
    float values[] = {1, 2, 3};
    Vector x(values, 3, 1);
    TVMFFIObjectHandle y = nullptr;
    CHECK_EQ(TVMFFIEnvTensorAlloc(&x, &y), 0);
    CHECK_EQ(Call(kernel, x.view(), ViewOf(y)), 0);
    auto* written = static_cast<const float*>(TVMFFITensorGetDLTensorPtr(y)->data);
    CHECK((std::vector<float>(written, written + 3) == std::vector<float>{2, 3, 4}));
    CHECK_EQ(StrongCount(y), 1u);
    TVMFFIObjectDecRef(y);
  }
}

TEST_CASE("wrong numbers of arguments are refused") {
  TVMFFIAny result = None();
  CHECK_RAISES(__tvm_ffi_add_one(nullptr, nullptr, 0, &result), "TypeError",
               "add_one(x, y) takes 2 arguments, got 0");
  CHECK_RAISES(__tvm_ffi_add_one_cpu(nullptr, nullptr, 0, &result), "TypeError",
               "add_one_cpu(x, y): arguments: expected 2, got 0");
}

TEST_CASE("arguments that are not tensors are refused") {
  float values[] = {1, 2, 3};
  Vector x(values, 3, 1);
  TVMFFIAny null_tensor = Pointer(kTVMFFIDLTensorPtr, nullptr);

  CHECK_RAISES(Call(__tvm_ffi_add_one, Int(1), x.view()), "TypeError",
               "add_one(x, y): `x` must be a tensor, got int");
  CHECK_RAISES(Call(__tvm_ffi_add_one, x.view(), null_tensor), "TypeError",
               "add_one(x, y): `y` must be a tensor, got DLTensor*");

  CHECK_RAISES(Call(__tvm_ffi_add_one_cpu, RawStr("x"), x.view()), "TypeError",
               "argument 0 `x`: expected a Tensor or DLTensor*, got const char*");
  CHECK_RAISES(Call(__tvm_ffi_add_one_cpu, x.view(), null_tensor), "TypeError",
               "argument 1 `y`: expected a Tensor or DLTensor*, got NULL");
}

TEST_CASE("wrong dtypes are refused") {
  float values[] = {1, 2, 3};
  Vector x(values, 3, 1);
  struct {
    DLDataType dtype;
    const char* name;
  } cases[] = {{{kDLFloat, 16, 1}, "got float16"},  // a small (inline) string
               {{kDLFloat, 32, 4}, "got float32x4"},
               {{kDLInt, 32, 1}, "got int32"},
               {{200, 8, 1}, "got dtype code 200"}};
  for (const auto& wrong : cases) {
    x.dtype = wrong.dtype;
    CHECK_RAISES(Call(__tvm_ffi_add_one, x.view(), x.view()), "TypeError",
                 "`x` must be float32, got dtype code ");
    CHECK_RAISES(Call(__tvm_ffi_add_one_cpu, x.view(), x.view()), "TypeError", wrong.name);
  }
}

TEST_CASE("wrong shapes and devices are refused") {
  float values[] = {1, 2, 3, 4};
  int64_t two_by_two[] = {2, 2}, steps[] = {2, 1};
  Vector x(values, 3, 1), longer(values, 4, 1), matrix(values, 0, 1), scalar(values, 0, 1);
  Vector elsewhere(values, 3, 1);
  matrix.ndim = 2;
  matrix.shape = two_by_two;
  matrix.strides = steps;
  scalar.ndim = 0;
  scalar.shape = scalar.strides = nullptr;
  elsewhere.device = {kDLCUDA, 0};

  CHECK_RAISES(Call(__tvm_ffi_add_one, matrix.view(), x.view()), "ValueError",
               "`x` must be a CPU vector, got device 1, ndim 2");
  CHECK_RAISES(Call(__tvm_ffi_add_one, scalar.view(), x.view()), "ValueError",
               "`x` must be a CPU vector, got device 1, ndim 0");
  CHECK_RAISES(Call(__tvm_ffi_add_one, x.view(), elsewhere.view()), "ValueError",
               "`y` must be a CPU vector, got device 2, ndim 1");
  CHECK_RAISES(Call(__tvm_ffi_add_one, x.view(), longer.view()), "ValueError",
               "`x` and `y` must have one length, got 3 and 4");

  CHECK_RAISES(Call(__tvm_ffi_add_one_cpu, matrix.view(), x.view()), "ValueError",
               "argument 0 `x`: expected ndim 1, got ndim 2");
  CHECK_RAISES(Call(__tvm_ffi_add_one_cpu, scalar.view(), x.view()), "ValueError",
               "argument 0 `x`: expected ndim 1, got ndim 0");
  CHECK_RAISES(Call(__tvm_ffi_add_one_cpu, x.view(), elsewhere.view()), "ValueError",
               "argument 1 `y`: expected a CPU tensor (device type 1), got device type 2");
  CHECK_RAISES(Call(__tvm_ffi_add_one_cpu, x.view(), longer.view()), "ValueError",
               "argument 1 `y`: expected the length of `x`, 3, got length 4");
}

TEST_CASE("NULL and misaligned addresses are refused") {
  float values[] = {1, 2, 3, 4};
  Vector x(values, 3, 1), missing(nullptr, 3, 1), misaligned(values, 3, 1);
  misaligned.byte_offset = 2;
  CHECK_RAISES(Call(__tvm_ffi_add_one_cpu, missing.view(), x.view()), "ValueError",
               "argument 0 `x`: expected a data pointer, got NULL");
  CHECK_RAISES(Call(__tvm_ffi_add_one_cpu, misaligned.view(), x.view()), "ValueError",
               "argument 0 `x`: expected memory aligned to 4 bytes, got address modulo 4 = 2");
  CHECK_RAISES(Call(__tvm_ffi_add_one_cpu, x.view(), missing.view()), "ValueError",
               "argument 1 `y`: expected a data pointer, got NULL");
}
