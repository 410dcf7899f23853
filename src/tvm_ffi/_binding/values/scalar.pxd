# SPDX-License-Identifier: Apache-2.0
from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport CallState, Packer

# Any int, also one beyond 64 bits.
cdef int pack_int(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer) noexcept
# Whatever Python converts to a float.
cdef int pack_float(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer) noexcept
