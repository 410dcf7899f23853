# SPDX-License-Identifier: Apache-2.0
from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport CallState, Packer


# How the values of a class say what is passed in their place.  Static: packers refer to it.
ctypedef struct ValueProtocol:
    object (*inner_of)(object value)
    const char* method  # by which they say it; NULL: they hold it, always the same
    # What is said about the argument once it is packed; NULL: nothing.
    int (*add_restriction)(object inner, abi.TVMFFIAny* packed, CallState* state) except -1

# The packer of such a class, whose context is its ValueProtocol.
cdef int pack_value_protocol(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer) except -1
