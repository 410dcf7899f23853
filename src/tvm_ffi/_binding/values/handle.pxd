# SPDX-License-Identifier: Apache-2.0
from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport CallState, Packer

# The handle of an object that is a `CObject` and nothing more.
cdef int pack_handle(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer) except -1
