# SPDX-License-Identifier: Apache-2.0
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi

# Callbacks: native functions that call a Python callable.

# Create a native function that calls the Python callable, and write an owned reference to it to
# `out`.  If `exchange_api` is not NULL, it must be the exchange API of `tensor_class`, and the
# callable gets tensors as instances of `tensor_class`; otherwise it gets instances of `Tensor`.
# Fails: raises MemoryError.
cdef int new_callback(
    object function, object tensor_class, const abi.DLPackExchangeAPI* exchange_api,
    abi.TVMFFIObjectHandle* out) except -1
# Return the borrowed Python callable of a callback; NULL if `function` is NULL or not a callback.
cdef PyObject* callable_of(abi.TVMFFIObjectHandle function) noexcept
# Return the borrowed `tensor_class` of a callback (see `new_callback`); NULL if there is none.
cdef PyObject* tensor_class_of(abi.TVMFFIObjectHandle callback) noexcept
# Same as `callable_of` and `tensor_class_of`, but return a new reference instead of a borrowed one,
# and None instead of NULL.
cdef object callable_object(abi.TVMFFIObjectHandle function)
cdef object tensor_class_object(abi.TVMFFIObjectHandle function)
# Call the Python callable of a callback with packed arguments.  `names` is the tuple of the
# keywords of the arguments at the end, or NULL if all arguments are positional.  Writes an owned
# value to `result`.
# Fails: -1 with a native error pending.  Threads: needs the GIL.
cdef int enter_callback(
    abi.TVMFFIObjectHandle callback, const abi.TVMFFIAny* args, int32_t num_args,
    abi.TVMFFIAny* result, PyObject* names) noexcept
