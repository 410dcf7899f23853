/* SPDX-License-Identifier: Apache-2.0
 *
 * XLA element types as DLPack dtypes, and XLA scalars as TVM FFI values. */
#ifndef TVM_FFI_RUNTIME_XLA_XLA_VALUES_H_
#define TVM_FFI_RUNTIME_XLA_XLA_VALUES_H_

#include <tvm/ffi/c_api.h>

#include "xla_ffi.h"

/* DLPack dtypes, indexed by xla::PrimitiveType.  The field `bits` is 0 if the type is not an
 * element type or DLPack lacks the type.  XLA and DLPack both pack sub-byte types with the first
 * element in the lowest bits.  tvm_ffi.interop._xla.element_types has the names of the types. */
enum { kNumXlaTypes = 34 };
extern const DLDataType kDLPackTypes[kNumXlaTypes];

static inline int HasDLPackType(XLA_FFI_DataType type) {
  return (uint32_t)type < kNumXlaTypes && kDLPackTypes[type].bits != 0;
}

/* Convert an XLA scalar to a TVM FFI value.  Fails: -1 if the element type of the scalar has no
 * corresponding TVM FFI value type. */
int SetScalar(const XLA_FFI_Scalar* scalar, TVMFFIAny* out);

#endif /* TVM_FFI_RUNTIME_XLA_XLA_VALUES_H_ */
