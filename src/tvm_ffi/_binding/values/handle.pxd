# SPDX-License-Identifier: Apache-2.0
# Packing of object handles.
from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport CallState, Packer

# Pack the handle of a `CObject`, borrowed from the wrapper.  Fails: ValueError if it is empty.
cdef int pack_handle(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer) except -1
