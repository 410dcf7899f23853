/* SPDX-License-Identifier: Apache-2.0
 *
 * Buffers and scalars of XLA as tensors and values. */
#ifndef TVM_FFI_RUNTIME_XLA_XLA_VALUES_H_
#define TVM_FFI_RUNTIME_XLA_XLA_VALUES_H_

#include <tvm/ffi/c_api.h>

#include "xla_ffi.h"

/* Element types by XLA's numbers; bits 0: none, or one that DLPack lacks.  Those of less than a
 * byte are packed in the same way by both, the first element in the lowest bits.  The names are in
 * tvm_ffi.interop._xla.element_types. */
enum { kNumXlaTypes = 34 };
extern const DLDataType kDLPackTypes[kNumXlaTypes];

static inline int HasDLPackType(XLA_FFI_DataType type) {
  return (uint32_t)type < kNumXlaTypes && kDLPackTypes[type].bits != 0;
}

/* Fails: -1 where values have no such type. */
int SetScalar(const XLA_FFI_Scalar* scalar, TVMFFIAny* out);

#endif /* TVM_FFI_RUNTIME_XLA_XLA_VALUES_H_ */
