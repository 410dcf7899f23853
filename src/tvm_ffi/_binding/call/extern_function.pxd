# SPDX-License-Identifier: Apache-2.0
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi

# A Function that enters the code at the address `symbol` by way of `call`, one of those below.
# `keep_alive` lives as long; `parameter` names the address in messages.
cdef object function_at(
    str parameter, object symbol, object keep_alive, abi.TVMFFISafeCallType call)

# The code has the packed calling convention; its handle is NULL.
cdef int call_extern_c(
    void* self, const abi.TVMFFIAny* args, int32_t num_args, abi.TVMFFIAny* result
) noexcept nogil
# The code takes one ``void**``, as MLIR's packed functions do.
cdef int call_mlir_packed(
    void* self, const abi.TVMFFIAny* args, int32_t num_args, abi.TVMFFIAny* result
) noexcept nogil
