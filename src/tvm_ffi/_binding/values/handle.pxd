# SPDX-License-Identifier: Apache-2.0
# Pack function for wrappers of native objects.
from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport CallState, Packer

# Pack the handle of a `CObject`, the Python wrapper of a native object.  The handle is borrowed
# from the wrapper.  Fails: ValueError if the wrapper is empty, that is, has no handle.
cdef int pack_handle(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer) except -1
