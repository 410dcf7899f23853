/* SPDX-License-Identifier: Apache-2.0 */
#include "xla_values.h"

const DLDataType kDLPackTypes[kNumXlaTypes] = {
    [1] = {kDLBool, 8, 1},
    [2] = {kDLInt, 8, 1},
    [3] = {kDLInt, 16, 1},
    [4] = {kDLInt, 32, 1},
    [5] = {kDLInt, 64, 1},
    [6] = {kDLUInt, 8, 1},
    [7] = {kDLUInt, 16, 1},
    [8] = {kDLUInt, 32, 1},
    [9] = {kDLUInt, 64, 1},
    [10] = {kDLFloat, 16, 1},
    [11] = {kDLFloat, 32, 1},
    [12] = {kDLFloat, 64, 1},
    [15] = {kDLComplex, 64, 1},
    [16] = {kDLBfloat, 16, 1},
    [18] = {kDLComplex, 128, 1},
    [19] = {kDLFloat8_e5m2, 8, 1},
    [20] = {kDLFloat8_e4m3fn, 8, 1},
    [21] = {kDLInt, 4, 1},
    [22] = {kDLUInt, 4, 1},
    [23] = {kDLFloat8_e4m3b11fnuz, 8, 1},
    [24] = {kDLFloat8_e5m2fnuz, 8, 1},
    [25] = {kDLFloat8_e4m3fnuz, 8, 1},
    [26] = {kDLInt, 2, 1},
    [27] = {kDLUInt, 2, 1},
    [28] = {kDLFloat8_e4m3, 8, 1},
    [29] = {kDLFloat8_e3m4, 8, 1},
    [32] = {kDLFloat4_e2m1fn, 4, 1},
    [33] = {kDLFloat8_e8m0fnu, 8, 1},
};

int SetScalar(const XLA_FFI_Scalar* scalar, TVMFFIAny* out) {
  const void* value = scalar->value;
  out->type_index = kTVMFFIInt;
  switch (scalar->dtype) {
    case 1:
      out->type_index = kTVMFFIBool;
      out->v_int64 = *(const uint8_t*)value != 0;
      return 0;
    case 2:
      out->v_int64 = *(const int8_t*)value;
      return 0;
    case 3:
      out->v_int64 = *(const int16_t*)value;
      return 0;
    case 4:
      out->v_int64 = *(const int32_t*)value;
      return 0;
    case 5:
      out->v_int64 = *(const int64_t*)value;
      return 0;
    case 6:
      out->v_int64 = *(const uint8_t*)value;
      return 0;
    case 7:
      out->v_int64 = *(const uint16_t*)value;
      return 0;
    case 8:
      out->v_int64 = *(const uint32_t*)value;
      return 0;
    case 9:
      out->v_int64 = *(const int64_t*)value;
      return 0;
    case 11:
      out->type_index = kTVMFFIFloat;
      out->v_float64 = *(const float*)value;
      return 0;
    case 12:
      out->type_index = kTVMFFIFloat;
      out->v_float64 = *(const double*)value;
      return 0;
    default:
      return -1;
  }
}
