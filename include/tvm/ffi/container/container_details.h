// SPDX-License-Identifier: Apache-2.0
// Former name of container_detail.h, used up to release 0.1.14.
#ifndef TVM_FFI_CONTAINER_CONTAINER_DETAILS_H_
#define TVM_FFI_CONTAINER_CONTAINER_DETAILS_H_
#include <tvm/ffi/container/container_detail.h>
#endif  // TVM_FFI_CONTAINER_CONTAINER_DETAILS_H_
