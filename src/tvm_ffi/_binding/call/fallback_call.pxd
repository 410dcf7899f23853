# SPDX-License-Identifier: Apache-2.0
from cpython.object cimport PyObject
from libc.stdint cimport int32_t

from tvm_ffi._binding.object cimport CObject

# Fallback for calls with an argument that cannot be packed.

# Return a new reference to the result of `hooks.fallback_call`; the packing error must be set.
# Fails: NULL with an exception set, the packing error if the hook does not support the call.
cdef PyObject* call_fallback(
    CObject function, PyObject* const* values, int32_t num_args) noexcept
