# SPDX-License-Identifier: Apache-2.0
# Packing of ints and floats.
from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport CallState, Packer

# Pack an int; beyond 64 bits as a temporary object.  Fails: -1 with an exception set.
cdef int pack_int(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer) noexcept
# Pack a value that Python converts to a float.  Fails: -1 with an exception set.
cdef int pack_float(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer) noexcept
