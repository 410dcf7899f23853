/* SPDX-License-Identifier: Apache-2.0 */
#include "xla_error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

XLA_FFI_Error* NewError(const XLA_FFI_Api* api, int32_t code, const char* message) {
  XLA_FFI_Error_Create_Args args;
  memset(&args, 0, sizeof(args));
  args.struct_size = sizeof(args);
  args.message = message;
  args.code = code;
  return api->Error_Create(&args);
}

XLA_FFI_Error* ErrorOf(const XLA_FFI_Api* api, XLA_FFI_ByteSpan name, TVMFFIObjectHandle error,
                       int32_t code) {
  static const char format[] = "call_tvm_ffi('%.*s'): ";
  char stack[512];
  char* text = stack;
  int name_size = name.len < 256 ? (int)name.len : 256;
  size_t prefix = (size_t)snprintf(stack, sizeof(stack), format, name_size, name.ptr);
  size_t size = prefix + TVMFFIHostErrorText(error, stack + prefix, sizeof(stack) - prefix);
  XLA_FFI_Error* created;
  if (size >= sizeof(stack)) {
    text = (char*)malloc(size + 1);
    if (text == NULL) {
      text = stack; /* without memory for the whole message, the message is truncated */
    } else {
      memcpy(text, stack, prefix);
      TVMFFIHostErrorText(error, text + prefix, size + 1 - prefix);
    }
  }
  created = NewError(api, code != 0 ? code : TVMFFIHostErrorStatus(error), text);
  if (text != stack) free(text);
  TVMFFIObjectDecRef(error);
  return created;
}

XLA_FFI_Error* PendingError(const XLA_FFI_Api* api, XLA_FFI_ByteSpan name, int32_t code) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  if (error == NULL) {
    return NewError(api, kInternal, "call_tvm_ffi: the call failed without a TVM FFI error");
  }
  return ErrorOf(api, name, error, code);
}
