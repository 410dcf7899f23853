/* SPDX-License-Identifier: Apache-2.0
 *
 * Conversion of TVM FFI errors to XLA errors: a status code and a message. */
#ifndef TVM_FFI_RUNTIME_XLA_XLA_ERROR_H_
#define TVM_FFI_RUNTIME_XLA_XLA_ERROR_H_

#include <tvm/ffi/extra/c_host_call.h>

#include "xla_ffi.h"

/* The absl::StatusCode values of errors that the handler itself reports. */
enum { kInvalidArgument = 3, kNotFound = 5, kOutOfMemory = 8, kUnimplemented = 12, kInternal = 13 };

XLA_FFI_Error* NewError(const XLA_FFI_Api* api, int32_t code, const char* message);

/* Convert a TVM FFI error to an XLA error.  Consumes `error`.  code: the status code; 0 for the
 * status code of the error's kind. */
XLA_FFI_Error* ErrorOf(const XLA_FFI_Api* api, XLA_FFI_ByteSpan name, TVMFFIObjectHandle error,
                       int32_t code);

/* Convert the pending TVM FFI error of the thread to an XLA error, and clear it.  code: same as in
 * ErrorOf. */
XLA_FFI_Error* PendingError(const XLA_FFI_Api* api, XLA_FFI_ByteSpan name, int32_t code);

#endif /* TVM_FFI_RUNTIME_XLA_XLA_ERROR_H_ */
