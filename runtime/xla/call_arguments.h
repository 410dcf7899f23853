/* SPDX-License-Identifier: Apache-2.0
 *
 * From what a program says of a call to the arguments of its function. */
#ifndef TVM_FFI_RUNTIME_XLA_CALL_ARGUMENTS_H_
#define TVM_FFI_RUNTIME_XLA_CALL_ARGUMENTS_H_

#include "call_description.h"

/* Where most calls have room for what they describe; larger ones take memory from the heap. */
enum { kSmallTensors = 24, kSmallStrides = 64 };
typedef struct CallRoom {
  TVMFFIAny values[kSmallTensors];
  DLTensor tensors[kSmallTensors];
  int64_t strides[kSmallStrides];
  void* large; /* NULL, or from malloc */
} CallRoom;

/* Read the two attributes that are ours.  Returns what is wrong, or NULL. */
const char* ReadPlan(Call* call);

/* Describe arguments and outputs as they are in this call, in the room given.
 *
 * Fails: with one of the codes of call_description.h; there is nothing to release then. */
int Arrange(Call* call, CallRoom* room);

/* Release the arguments and what was taken for them. */
void ReleaseArguments(Call* call, CallRoom* room);

#endif /* TVM_FFI_RUNTIME_XLA_CALL_ARGUMENTS_H_ */
