# SPDX-License-Identifier: Apache-2.0
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi

# Guarded calls: container locks instead of the GIL, on free-threaded Python.

# Call a short function of the runtime (see `keeps_gil`) on free-threaded Python, with its `List`
# and `Dict` arguments locked.  Parameters and return value are those of a packed call.
cdef int call_guarded(
    abi.TVMFFISafeCallType safe_call, abi.TVMFFIObjectHandle handle, abi.TVMFFIAny* args,
    int32_t num_args, abi.TVMFFIAny* result) noexcept
