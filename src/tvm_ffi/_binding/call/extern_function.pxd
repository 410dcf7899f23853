# SPDX-License-Identifier: Apache-2.0
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi

# Functions from the addresses of compiled code.

# Return a new Function that calls the code at the address `symbol` through `call`, one of the
# entries below.  It owns a reference to `keep_alive`; `parameter` names the address in errors.
cdef object function_at(
    str parameter, object symbol, object keep_alive, abi.TVMFFISafeCallType call)

# Entry for code with the packed calling convention; its handle is NULL.
cdef int call_extern_c(
    void* self, const abi.TVMFFIAny* args, int32_t num_args, abi.TVMFFIAny* result
) noexcept nogil
# Entry for code with MLIR's packed convention: one ``void**`` parameter.
cdef int call_mlir_packed(
    void* self, const abi.TVMFFIAny* args, int32_t num_args, abi.TVMFFIAny* result
) noexcept nogil
