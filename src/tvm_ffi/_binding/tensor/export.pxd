# SPDX-License-Identifier: Apache-2.0
from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi

# Handles below are those of tensors, borrowed.

# Whether these arguments of ``__dlpack__`` of a tensor on this device, as the interpreter passes
# them to C functions, ask for the versioned kind; an exception if they cannot be met.
cdef bint wants_version(
    abi.DLDevice device, PyObject* const* args, Py_ssize_t num_args, PyObject* names) except -1
cdef object new_legacy_capsule(abi.TVMFFIObjectHandle tensor)
cdef object new_versioned_capsule(abi.TVMFFIObjectHandle tensor)
# Whether the owner of the memory forbids writing to it.
cdef bint forbids_writing(abi.TVMFFIObjectHandle tensor) except -1
