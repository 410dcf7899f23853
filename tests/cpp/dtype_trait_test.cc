// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <tvm/ffi/extra/dtype.h>

// Empty types with the names that the CUDA and HIP headers define.
struct __half {
  unsigned short bits;
};
struct __nv_fp8_e4m3 {
  unsigned char bits;
};

namespace {

using namespace tvm::ffi;

template <typename T>
std::string NameOf() {
  constexpr DLDataType dtype = dtype_trait<T>::value;
  return DLDataTypeToString(dtype);
}

TEST_CASE("number types") {
  CHECK_EQ(NameOf<int8_t>(), "int8");
  CHECK_EQ(NameOf<int16_t>(), "int16");
  CHECK_EQ(NameOf<int32_t>(), "int32");
  CHECK_EQ(NameOf<int64_t>(), "int64");
  CHECK_EQ(NameOf<long>(), sizeof(long) == 8 ? "int64" : "int32");
  CHECK_EQ(NameOf<long long>(), "int64");
  CHECK_EQ(NameOf<uint8_t>(), "uint8");
  CHECK_EQ(NameOf<uint16_t>(), "uint16");
  CHECK_EQ(NameOf<uint32_t>(), "uint32");
  CHECK_EQ(NameOf<uint64_t>(), "uint64");
  CHECK_EQ(NameOf<unsigned long>(), sizeof(long) == 8 ? "uint64" : "uint32");
  CHECK_EQ(NameOf<unsigned long long>(), "uint64");
  CHECK_EQ(NameOf<size_t>(), sizeof(size_t) == 8 ? "uint64" : "uint32");
  CHECK_EQ(NameOf<float>(), "float32");
  CHECK_EQ(NameOf<double>(), "float64");
  CHECK_EQ(NameOf<bool>(), "bool");
}

TEST_CASE("CUDA and HIP types") {
  CHECK_EQ(NameOf<__half>(), "float16");
  CHECK_EQ(NameOf<__nv_bfloat16>(), "bfloat16");
  CHECK_EQ(NameOf<__nv_fp8_e4m3>(), "float8_e4m3fn");
  CHECK_EQ(NameOf<__nv_fp8_e5m2>(), "float8_e5m2");
  CHECK_EQ(NameOf<__nv_fp8_e8m0>(), "float8_e8m0fnu");
  CHECK_EQ(NameOf<__nv_fp4_e2m1>(), "float4_e2m1fn");
  CHECK_EQ(NameOf<__nv_fp4x2_e2m1>(), "float4_e2m1fnx2");
  CHECK_EQ(NameOf<hip_bfloat16>(), "bfloat16");
  CHECK_EQ(NameOf<__hip_bfloat16>(), "bfloat16");
  CHECK_EQ(NameOf<__hip_fp8_e4m3>(), "float8_e4m3fn");
  CHECK_EQ(NameOf<__hip_fp8_e4m3_fnuz>(), "float8_e4m3fnuz");
  CHECK_EQ(NameOf<__hip_fp8_e5m2>(), "float8_e5m2");
  CHECK_EQ(NameOf<__hip_fp8_e5m2_fnuz>(), "float8_e5m2fnuz");
  CHECK_EQ(NameOf<__hip_fp4_e2m1>(), "float4_e2m1fn");
  CHECK_EQ(NameOf<__hip_fp4x2_e2m1>(), "float4_e2m1fnx2");
}

// The types are rejected by overload resolution, not by a static assertion.
template <typename T>
constexpr auto HasDType(int) -> decltype(dtype_trait<T>::value, bool()) {
  return true;
}
template <typename T>
constexpr bool HasDType(...) {
  return false;
}
static_assert(HasDType<float>(0));
static_assert(!HasDType<char>(0) && !HasDType<long double>(0) && !HasDType<void*>(0) &&
              !HasDType<const int>(0));

}  // namespace
