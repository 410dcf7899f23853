# SPDX-License-Identifier: Apache-2.0
# Pack function for wrappers of native objects.
from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport CallState, Packer

# Pack the handle of a `CObject`; the handle is borrowed from this wrapper.  Fails: ValueError if
# the wrapper is empty.
cdef int pack_handle(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer) except -1
