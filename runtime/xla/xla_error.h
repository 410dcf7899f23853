/* SPDX-License-Identifier: Apache-2.0
 *
 * Failed calls as XLA has them: a status code and a text. */
#ifndef TVM_FFI_RUNTIME_XLA_XLA_ERROR_H_
#define TVM_FFI_RUNTIME_XLA_XLA_ERROR_H_

#include <tvm/ffi/extra/c_host_call.h>

#include "xla_ffi.h"

/* Status codes that are not the kind of an error of ours, and where we refuse ourselves. */
enum { kInvalidArgument = 3, kNotFound = 5, kOutOfMemory = 8, kUnimplemented = 12, kInternal = 13 };

XLA_FFI_Error* NewError(const XLA_FFI_Api* api, int32_t code, const char* message);

/* An error of ours: where, kind and text.  Releases it.  code 0: as its kind says. */
XLA_FFI_Error* ErrorOf(const XLA_FFI_Api* api, XLA_FFI_ByteSpan name, TVMFFIObjectHandle error,
                       int32_t code);

/* The same for the thread's pending error, which is taken. */
XLA_FFI_Error* PendingError(const XLA_FFI_Api* api, XLA_FFI_ByteSpan name, int32_t code);

#endif /* TVM_FFI_RUNTIME_XLA_XLA_ERROR_H_ */
