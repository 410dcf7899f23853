/* SPDX-License-Identifier: Apache-2.0
 *
 * Lock-free cache from function names to global function slots.
 *
 * An XLA program contains a checksum next to each name, so that a call need not hash the name.  The
 * checksum only selects a cache entry, whose name is then compared.  Entries are never removed, so
 * readers need no lock. */
#ifndef TVM_FFI_RUNTIME_XLA_NAMED_FUNCTION_H_
#define TVM_FFI_RUNTIME_XLA_NAMED_FUNCTION_H_

#include <tvm/ffi/extra/c_host_call.h>

#include "xla_ffi.h"

/* Find the function that is registered under the name now, and store it in *out, borrowed until the
 * process ends.
 *
 * checksum   equal for equal names; names with different checksums are found faster.
 * Fails: ValueError pending.     Threads: any. */
int FindNamedFunction(uint32_t checksum, XLA_FFI_ByteSpan name, TVMFFIObjectHandle* out);

#endif /* TVM_FFI_RUNTIME_XLA_NAMED_FUNCTION_H_ */
