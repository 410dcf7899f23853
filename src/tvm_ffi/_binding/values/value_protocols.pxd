# SPDX-License-Identifier: Apache-2.0
# Value protocols: methods by which a Python object names the value that is passed for it.
from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport CallState, Packer


# One value protocol.  A static variable: it is the context of packers, which live as long.
ctypedef struct ValueProtocol:
    object (*inner_of)(object value)  # returns the value to pass
    const char* method  # its method; NULL: a field, so the object keeps the inner value alive
    # Restricts the packed argument in `state`.  NULL: no restriction.
    int (*add_restriction)(object inner, abi.TVMFFIAny* packed, CallState* state) except -1

# Packer of such a class; its context is the ValueProtocol.  Fails: the exceptions of the methods;
# RecursionError if the methods lead to no value.
cdef int pack_value_protocol(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer) except -1
