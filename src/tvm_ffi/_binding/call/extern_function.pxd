# SPDX-License-Identifier: Apache-2.0
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi

# Function objects for compiled code whose address the caller passes.

# Return a new Function that calls the code at the address `symbol`.  `call` is the C function
# for the calling convention of this code: `call_extern_c` or `call_mlir_packed`.  The Function owns
# a reference to `keep_alive`.  `parameter` is the name of the address in error messages.
cdef object function_at(
    str parameter, object symbol, object keep_alive, abi.TVMFFISafeCallType call)

# Call compiled code with the packed calling convention.  The code gets NULL as handle.
cdef int call_extern_c(
    void* self, const abi.TVMFFIAny* args, int32_t num_args, abi.TVMFFIAny* result
) noexcept nogil
# Call compiled code with MLIR's packed calling convention, which has one ``void**`` parameter.
cdef int call_mlir_packed(
    void* self, const abi.TVMFFIAny* args, int32_t num_args, abi.TVMFFIAny* result
) noexcept nogil
