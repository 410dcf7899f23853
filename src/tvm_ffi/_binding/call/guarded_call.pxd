# SPDX-License-Identifier: Apache-2.0
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi

# Call a function that keeps the GIL, on free-threaded Python: locks the Lists and Dicts among the
# arguments during the call.  Arguments, result and return value as in a packed call.
cdef int call_guarded(
    abi.TVMFFISafeCallType safe_call, abi.TVMFFIObjectHandle handle, abi.TVMFFIAny* args,
    int32_t num_args, abi.TVMFFIAny* result) noexcept
