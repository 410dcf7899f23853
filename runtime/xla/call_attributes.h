/* SPDX-License-Identifier: Apache-2.0
 *
 * Conversion of XLA attributes to TVM FFI arguments. */
#ifndef TVM_FFI_RUNTIME_XLA_CALL_ATTRIBUTES_H_
#define TVM_FFI_RUNTIME_XLA_CALL_ATTRIBUTES_H_

#include "call_description.h"

/* Convert an attribute: a number, a string, or an array of numbers.  An array becomes `tensor`, in
 * CPU memory. */
int SetAttribute(Call* call, int64_t index, TVMFFIAny* out, DLTensor* tensor);

/* Convert an attribute that contains JSON graph text to the value that the text describes.  *out is
 * owned. */
int SetFromJSONGraph(Call* call, int64_t index, TVMFFIAny* out);

#endif /* TVM_FFI_RUNTIME_XLA_CALL_ATTRIBUTES_H_ */
