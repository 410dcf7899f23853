# SPDX-License-Identifier: Apache-2.0
# Pack functions for wrappers of native objects and for opaque values.
from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport CallState, Packer

# Pack the handle of a `CObject`, the Python wrapper of a native object.  The handle is borrowed
# from the wrapper.  Fails: ValueError if the wrapper is empty, that is, has no handle.
cdef int pack_handle(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer) except -1
# Pack a new opaque object, which owns the Python value.
cdef int pack_opaque(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer) except -1
