/* SPDX-License-Identifier: Apache-2.0
 *
 * Attributes of a call as arguments. */
#ifndef TVM_FFI_RUNTIME_XLA_CALL_ATTRIBUTES_H_
#define TVM_FFI_RUNTIME_XLA_CALL_ATTRIBUTES_H_

#include "call_description.h"

/* A number, a text, or an array of numbers in CPU memory, described in `tensor`. */
int SetAttribute(Call* call, int64_t index, TVMFFIAny* out, DLTensor* tensor);

/* A value of any other kind, which a text describes; owned. */
int SetFromJSONGraph(Call* call, int64_t index, TVMFFIAny* out);

#endif /* TVM_FFI_RUNTIME_XLA_CALL_ATTRIBUTES_H_ */
