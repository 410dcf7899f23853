/* SPDX-License-Identifier: Apache-2.0
 *
 * Argument conversion of XLA custom calls: attributes and buffers become TVM FFI arguments. */
#ifndef TVM_FFI_RUNTIME_XLA_CALL_ARGUMENTS_H_
#define TVM_FFI_RUNTIME_XLA_CALL_ARGUMENTS_H_

#include "call_description.h"

/* Storage for the arguments of a call.  The arrays are large enough for most calls; a larger call
 * uses the heap. */
enum { kInlineTensors = 24, kInlineStrides = 64 };
typedef struct CallStorage {
  TVMFFIAny values[kInlineTensors];
  DLTensor tensors[kInlineTensors];
  int64_t strides[kInlineStrides];
  void* heap; /* storage from malloc for a large call, else NULL */
} CallStorage;

/* Read the attributes __function and __arguments.  Returns an error message, or NULL on success. */
const char* ReadCallAttributes(Call* call);

/* Fill the arguments, and the tensors that describe the outputs of the call.
 *
 * Fails: with a code of call_description.h; nothing needs to be released then. */
int PrepareArguments(Call* call, CallStorage* storage);

/* Release the arguments that PrepareArguments filled, and their storage. */
void ReleaseArguments(Call* call, CallStorage* storage);

#endif /* TVM_FFI_RUNTIME_XLA_CALL_ARGUMENTS_H_ */
