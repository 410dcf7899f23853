# SPDX-License-Identifier: Apache-2.0
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport _abi

# An owned native function that calls the Python callable.
cdef int new_callback(object function, _abi.TVMFFIObjectHandle* out) except -1
# The callable behind a native function, borrowed; NULL when it is no Python callable, or empty.
cdef PyObject* callable_of(_abi.TVMFFIObjectHandle function) noexcept
# Call the callable as native code does; `names` are those of the last arguments, NULL: none.
# Needs the GIL.  0, or -1 with a native error pending.
cdef int enter_callback(
    PyObject* function, const _abi.TVMFFIAny* args, int32_t num_args, _abi.TVMFFIAny* result,
    PyObject* names) noexcept
