# SPDX-License-Identifier: Apache-2.0
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi

# Callbacks: native functions that call a Python callable.

# Write an owned native function that calls the Python callable to `out`.  With an exchange API,
# which must be that of `tensor_class`, the callable gets tensors as instances of `tensor_class`.
# Fails: raises MemoryError.
cdef int new_callback(
    object function, object tensor_class, const abi.DLPackExchangeAPI* exchange_api,
    abi.TVMFFIObjectHandle* out) except -1
# Return the callable of a callback, borrowed; NULL for other functions and if `function` is NULL.
cdef PyObject* callable_of(abi.TVMFFIObjectHandle function) noexcept
# Return the tensor class of a callback, borrowed; NULL: `Tensor`.
cdef PyObject* tensor_class_of(abi.TVMFFIObjectHandle callback) noexcept
# Same as `callable_of` and `tensor_class_of`, but return a new reference, or None for NULL.
cdef object callable_object(abi.TVMFFIObjectHandle function)
cdef object tensor_class_object(abi.TVMFFIObjectHandle function)
# Call the Python callable of a callback with packed arguments; `names` are the keywords of the last
# arguments, or NULL.  Writes an owned value to `result`.
# Fails: -1 with a native error pending.  Threads: needs the GIL.
cdef int enter_callback(
    abi.TVMFFIObjectHandle callback, const abi.TVMFFIAny* args, int32_t num_args,
    abi.TVMFFIAny* result, PyObject* names) noexcept
