# SPDX-License-Identifier: Apache-2.0
# DLPack export of native tensors: capsules, the arguments of `__dlpack__`, and the read-only flag.
# All tensor handles that are passed to these functions are borrowed.
from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi

# Requests of a consumer in the arguments of `__dlpack__`.
cdef enum:
    VERSIONED_CAPSULE = 1
    COPIED_MEMORY = 2

# Return the requests in the arguments of `__dlpack__`, combined with `|`.  `device` is the device
# of the tensor.  `args` has one value per keyword in `names`, which is a tuple or NULL.
# Fails: BufferError if the consumer requests another device; TypeError for positional or unknown
# arguments.
cdef int requests_of_consumer(
    abi.DLDevice device, PyObject* const* args, Py_ssize_t num_args, PyObject* names) except -1
# Return a new capsule of the legacy kind ("dltensor").  Its export owns a reference to the tensor.
# Fails: MemoryError; BufferError for a read-only tensor, because a legacy capsule has no flag for
# it.
cdef object new_legacy_capsule(abi.TVMFFIObjectHandle tensor)
# Same as `new_legacy_capsule`, but return a "dltensor_versioned" capsule, which has a read-only
# flag. Fails: MemoryError.
cdef object new_versioned_capsule(abi.TVMFFIObjectHandle tensor)
# Tell the consumer of a new versioned capsule that the memory is a copy.
cdef int mark_as_copied(object capsule) except -1


# Deleters (functions that free an object) of read-only tensors.  A tensor is read-only if the
# deleter in its object header is one of them.
ctypedef struct ReadOnlyDeleters:
    void* tensor_deleter  # deleter of the runtime's read-only tensors
    void* view_deleter    # deleter of the runtime's views of read-only tensors

# Return the address of the deleters of read-only tensors; the struct is in static memory.  Fails:
# never.
cdef const ReadOnlyDeleters* read_only_deleters() noexcept


cdef inline bint is_read_only_tensor(
    const ReadOnlyDeleters* deleters, abi.TVMFFIObjectHandle tensor
) noexcept:
    """Return True if the memory of a tensor must not be written."""
    cdef void* deleter = <void*>(<abi.TVMFFIObject*>tensor).deleter
    return deleter == deleters.tensor_deleter or deleter == deleters.view_deleter
