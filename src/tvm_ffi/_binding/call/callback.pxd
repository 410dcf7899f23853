# SPDX-License-Identifier: Apache-2.0
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi

# An owned native function that calls the Python callable.  With an exchange table, tensors reach
# the callable as objects of `tensor_class`, whose table it is.
cdef int new_callback(
    object function, object tensor_class, const abi.DLPackExchangeAPI* exchange_api,
    abi.TVMFFIObjectHandle* out) except -1
# The callable behind a native function, borrowed; NULL when it is no Python callable, or empty.
cdef PyObject* callable_of(abi.TVMFFIObjectHandle function) noexcept
# The class that its tensors arrive as, borrowed; NULL: our own.
cdef PyObject* tensor_class_of(abi.TVMFFIObjectHandle callback) noexcept
# The same as objects, or None.
cdef object callable_object(abi.TVMFFIObjectHandle function)
cdef object tensor_class_object(abi.TVMFFIObjectHandle function)
# Call a Python callable as native code does; `names` are those of the last arguments, NULL: none.
# Needs the GIL.  0, or -1 with a native error pending.
cdef int enter_callback(
    abi.TVMFFIObjectHandle callback, const abi.TVMFFIAny* args, int32_t num_args,
    abi.TVMFFIAny* result, PyObject* names) noexcept
