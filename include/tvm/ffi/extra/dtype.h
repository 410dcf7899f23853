// SPDX-License-Identifier: Apache-2.0
// dtype_trait<T>::value: the DLDataType of a C++ element type.
//
// CUDA and HIP types are only declared here; their headers may be included before or after this
// one, or not at all.  `char`, whose signedness depends on the platform, and `long double` have no
// dtype.
#ifndef TVM_FFI_EXTRA_DTYPE_H_
#define TVM_FFI_EXTRA_DTYPE_H_

#include <tvm/ffi/dtype.h>

struct __half;
struct __nv_bfloat16;
struct __nv_fp8_e4m3;
struct __nv_fp8_e5m2;
struct __nv_fp8_e8m0;
struct __nv_fp4_e2m1;
struct __nv_fp4x2_e2m1;

struct hip_bfloat16;
struct __hip_bfloat16;
struct __hip_fp8_e4m3;
struct __hip_fp8_e4m3_fnuz;
struct __hip_fp8_e5m2;
struct __hip_fp8_e5m2_fnuz;
struct __hip_fp4_e2m1;
struct __hip_fp4x2_e2m1;

namespace tvm {
namespace ffi {

// `dtype_trait<T>::value` is the DLDataType of a C++, CUDA or HIP type T; undefined for other
// types.
template <typename T>
struct dtype_trait {};

namespace detail {

template <uint8_t code, uint8_t bits, uint16_t lanes = 1>
struct DTypeConstant {
  static constexpr DLDataType value = {code, bits, lanes};
};
template <typename T>
struct IntDTypeConstant
    : DTypeConstant<std::is_signed_v<T> ? kDLInt : kDLUInt, static_cast<uint8_t>(8 * sizeof(T))> {};

}  // namespace detail

#define TVM_FFI_DTYPE_TRAIT_(T, ...) \
  template <>                        \
  struct dtype_trait<T> : detail::__VA_ARGS__ {}

// Each built-in type has a specialization, because distinct types, such as long and long long, may
// have the same size.
TVM_FFI_DTYPE_TRAIT_(signed char, IntDTypeConstant<signed char>);
TVM_FFI_DTYPE_TRAIT_(unsigned char, IntDTypeConstant<unsigned char>);
TVM_FFI_DTYPE_TRAIT_(short, IntDTypeConstant<short>);                    // NOLINT(*)
TVM_FFI_DTYPE_TRAIT_(unsigned short, IntDTypeConstant<unsigned short>);  // NOLINT(*)
TVM_FFI_DTYPE_TRAIT_(int, IntDTypeConstant<int>);
TVM_FFI_DTYPE_TRAIT_(unsigned int, IntDTypeConstant<unsigned int>);
TVM_FFI_DTYPE_TRAIT_(long, IntDTypeConstant<long>);                              // NOLINT(*)
TVM_FFI_DTYPE_TRAIT_(unsigned long, IntDTypeConstant<unsigned long>);            // NOLINT(*)
TVM_FFI_DTYPE_TRAIT_(long long, IntDTypeConstant<long long>);                    // NOLINT(*)
TVM_FFI_DTYPE_TRAIT_(unsigned long long, IntDTypeConstant<unsigned long long>);  // NOLINT(*)
TVM_FFI_DTYPE_TRAIT_(bool, DTypeConstant<kDLBool, 8>);
TVM_FFI_DTYPE_TRAIT_(float, DTypeConstant<kDLFloat, 32>);
TVM_FFI_DTYPE_TRAIT_(double, DTypeConstant<kDLFloat, 64>);

TVM_FFI_DTYPE_TRAIT_(__half, DTypeConstant<kDLFloat, 16>);
TVM_FFI_DTYPE_TRAIT_(__nv_bfloat16, DTypeConstant<kDLBfloat, 16>);
TVM_FFI_DTYPE_TRAIT_(__nv_fp8_e4m3, DTypeConstant<kDLFloat8_e4m3fn, 8>);
TVM_FFI_DTYPE_TRAIT_(__nv_fp8_e5m2, DTypeConstant<kDLFloat8_e5m2, 8>);
TVM_FFI_DTYPE_TRAIT_(__nv_fp8_e8m0, DTypeConstant<kDLFloat8_e8m0fnu, 8>);
TVM_FFI_DTYPE_TRAIT_(__nv_fp4_e2m1, DTypeConstant<kDLFloat4_e2m1fn, 4>);
// __nv_fp4x2_e2m1 contains two values in one byte, so its dtype has two lanes.
TVM_FFI_DTYPE_TRAIT_(__nv_fp4x2_e2m1, DTypeConstant<kDLFloat4_e2m1fn, 4, 2>);

TVM_FFI_DTYPE_TRAIT_(hip_bfloat16, DTypeConstant<kDLBfloat, 16>);
TVM_FFI_DTYPE_TRAIT_(__hip_bfloat16, DTypeConstant<kDLBfloat, 16>);
TVM_FFI_DTYPE_TRAIT_(__hip_fp8_e4m3, DTypeConstant<kDLFloat8_e4m3fn, 8>);
TVM_FFI_DTYPE_TRAIT_(__hip_fp8_e4m3_fnuz, DTypeConstant<kDLFloat8_e4m3fnuz, 8>);
TVM_FFI_DTYPE_TRAIT_(__hip_fp8_e5m2, DTypeConstant<kDLFloat8_e5m2, 8>);
TVM_FFI_DTYPE_TRAIT_(__hip_fp8_e5m2_fnuz, DTypeConstant<kDLFloat8_e5m2fnuz, 8>);
TVM_FFI_DTYPE_TRAIT_(__hip_fp4_e2m1, DTypeConstant<kDLFloat4_e2m1fn, 4>);
TVM_FFI_DTYPE_TRAIT_(__hip_fp4x2_e2m1, DTypeConstant<kDLFloat4_e2m1fn, 4, 2>);

#undef TVM_FFI_DTYPE_TRAIT_

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_DTYPE_H_
