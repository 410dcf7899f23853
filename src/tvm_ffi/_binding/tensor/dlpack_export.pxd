# SPDX-License-Identifier: Apache-2.0
from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport ArgumentView, ArgumentViewFreeList

# Handles below are those of tensors, borrowed.

# Whether these arguments of ``__dlpack__`` of a tensor on this device, as the interpreter passes
# them to C functions, ask for the versioned kind; an exception if they cannot be met.
cdef bint wants_version(
    abi.DLDevice device, PyObject* const* args, Py_ssize_t num_args, PyObject* names) except -1
cdef object new_legacy_capsule(abi.TVMFFIObjectHandle tensor)
cdef object new_versioned_capsule(abi.TVMFFIObjectHandle tensor)


# What tells tensors over memory that must not be written from all others.
ctypedef struct ReadOnlyMarks:
    void* tensor_deleter
    void* view_deleter
    ArgumentViewFreeList* free_views

cdef const ReadOnlyMarks* read_only_marks() noexcept


cdef inline bint forbids_writing(
    const ReadOnlyMarks* marks, abi.TVMFFIObjectHandle tensor
) noexcept:
    """Whether the owner of the memory forbids writing to it."""
    cdef void* deleter = <void*>(<abi.TVMFFIObject*>tensor).deleter
    return (
        deleter == marks.tensor_deleter
        or deleter == marks.view_deleter
        or (deleter == <void*>marks.free_views.deleter and (<ArgumentView*>tensor).is_read_only)
    )
