/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions that programs name, each found once.
 *
 * Programs have a number beside the name, made with the program, so that a call hashes nothing. The
 * number says where to look first and no more: what is there is compared with the name.  Nothing is
 * ever taken out again, so readers need no lock. */
#ifndef TVM_FFI_RUNTIME_XLA_NAMED_FUNCTION_H_
#define TVM_FFI_RUNTIME_XLA_NAMED_FUNCTION_H_

#include <tvm/ffi/extra/c_host_call.h>

#include "xla_ffi.h"

/* Return the function that a global name has now; borrowed until the process ends.
 *
 * number   best one that other names do not have.
 * Fails: ValueError pending.     Threads: any. */
int FindNamedFunction(uint32_t number, XLA_FFI_ByteSpan name, TVMFFIObjectHandle* out);

#endif /* TVM_FFI_RUNTIME_XLA_NAMED_FUNCTION_H_ */
