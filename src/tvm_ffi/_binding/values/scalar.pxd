# SPDX-License-Identifier: Apache-2.0
# Pack functions for ints and floats.
from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport CallState, Packer

# Pack an int.  An int that does not fit in 64 bits becomes an object of type kTVMFFIBigInt, a
# temporary object of the call.  Fails: -1 with an exception set.
cdef int pack_int(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer) noexcept
# Pack a float, or a value that `float()` converts.  Fails: -1 with an exception set.
cdef int pack_float(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer) noexcept
