// SPDX-License-Identifier: Apache-2.0
// Includes base_detail.h under the name that the header had up to release 0.1.14.
#ifndef TVM_FFI_BASE_DETAILS_H_
#define TVM_FFI_BASE_DETAILS_H_
#include <tvm/ffi/base_detail.h>
#endif  // TVM_FFI_BASE_DETAILS_H_
