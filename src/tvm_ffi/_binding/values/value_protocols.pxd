# SPDX-License-Identifier: Apache-2.0
# Value protocols: methods that return the value to pass instead of the Python object.
from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport CallState, Packer


# Description of a value protocol.  Instances must be static variables, because packers (converters
# of Python values to TVMFFIAny) store their addresses and are never freed.
ctypedef struct ValueProtocol:
    # Function that returns the inner value, which is passed instead of `value`.
    object (*inner_of)(object value)
    # Name of the protocol method; NULL if the inner value is a field, which keeps the inner value
    # alive.
    const char* method
    # Sets the argument restriction in `state` after packing `inner`.  NULL: no restriction.
    int (*add_restriction)(object inner, abi.TVMFFIAny* packed, CallState* state) except -1

# Pack function for objects with a value protocol.  The context of the packer is the address of the
# ValueProtocol.
# Fails: the exceptions of the methods; RecursionError if too many nested inner values have a value
# protocol, too.
cdef int pack_value_protocol(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer) except -1
