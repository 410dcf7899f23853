# SPDX-License-Identifier: Apache-2.0
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi

# What keeping the GIL means where there is none: the callee has Lists and Dicts for itself.
cdef int call_guarded(
    abi.TVMFFISafeCallType safe_call, abi.TVMFFIObjectHandle handle, abi.TVMFFIAny* args,
    int32_t num_args, abi.TVMFFIAny* result) noexcept
