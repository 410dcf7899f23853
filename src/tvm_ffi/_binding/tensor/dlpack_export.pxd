# SPDX-License-Identifier: Apache-2.0
# DLPack export of native tensors: capsules, the arguments of `__dlpack__`, and the read-only flag.
# The tensor handles that these functions take are borrowed.
from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport ArgumentView, ArgumentViewFreeList

# Return True if the arguments of `__dlpack__` request a versioned capsule.  `device` is the
# tensor's.  `args` has the values of the keyword arguments in `names`, a tuple or NULL.
# Fails: BufferError if the consumer wants another device or a copy, TypeError for other arguments.
cdef bint requests_versioned_capsule(
    abi.DLDevice device, PyObject* const* args, Py_ssize_t num_args, PyObject* names) except -1
# Return a new capsule, which owns a reference to the tensor until a consumer takes the export.
# Fails: MemoryError; BufferError for a read-only tensor, which a legacy capsule cannot mark.
cdef object new_legacy_capsule(abi.TVMFFIObjectHandle tensor)
# Same as `new_legacy_capsule`, but the capsule has a read-only flag.  Fails: MemoryError.
cdef object new_versioned_capsule(abi.TVMFFIObjectHandle tensor)


# The deleters in the object headers by which read-only tensors are recognized.
ctypedef struct ReadOnlyDeleters:
    void* tensor_deleter              # of the runtime's read-only tensors
    void* view_deleter                # of the runtime's views of read-only tensors
    ArgumentViewFreeList* free_views  # its deleter: of argument views, which have a flag

# Return the deleters; static memory.  Fails: never.
cdef const ReadOnlyDeleters* read_only_deleters() noexcept


cdef inline bint is_read_only_tensor(
    const ReadOnlyDeleters* deleters, abi.TVMFFIObjectHandle tensor
) noexcept:
    """Return True if the memory of a tensor must not be written."""
    cdef void* deleter = <void*>(<abi.TVMFFIObject*>tensor).deleter
    return (
        deleter == deleters.tensor_deleter
        or deleter == deleters.view_deleter
        or (deleter == <void*>deleters.free_views.deleter and (<ArgumentView*>tensor).is_read_only)
    )
