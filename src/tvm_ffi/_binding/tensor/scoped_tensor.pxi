# SPDX-License-Identifier: Apache-2.0
"""Scoped tensors: objects to which exports of borrowed tensors refer; see scoped_tensor.pxd."""

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.object cimport check


cdef void _delete_scoped_tensor(abi.DLManagedTensorVersioned* managed) noexcept nogil:
    """Free `managed`.  The memory of the elements is borrowed and not freed.  Threads: any."""
    free(managed)


cdef abi.TVMFFIObjectHandle new_scoped_tensor(
    const abi.DLTensor* source, bint is_read_only
) except NULL:
    cdef size_t ndim = <size_t>max(source.ndim, 0)
    cdef abi.TVMFFIObjectHandle handle = NULL
    cdef abi.DLManagedTensorVersioned* managed = <abi.DLManagedTensorVersioned*>malloc(
        sizeof(abi.DLManagedTensorVersioned) + 2 * ndim * sizeof(int64_t))
    if managed == NULL:
        raise MemoryError()
    managed.version.major = abi.DLPACK_MAJOR_VERSION
    managed.version.minor = abi.DLPACK_MINOR_VERSION
    managed.manager_ctx = NULL
    managed.deleter = _delete_scoped_tensor
    managed.flags = abi.DLPACK_FLAG_BITMASK_READ_ONLY if is_read_only else 0
    managed.dl_tensor = source[0]
    _copy_extents(<int64_t*>(managed + 1), source, &managed.dl_tensor)
    if abi.TVMFFITensorFromDLPackVersioned(managed, 0, 0, &handle) != 0:
        free(managed)
        check(-1)
    return handle


cdef void _copy_extents(
    int64_t* extents, const abi.DLTensor* source, abi.DLTensor* out
) noexcept:
    """Copy shape and strides of `source` to `extents`; compute the strides if they are NULL."""
    cdef int dim
    cdef uint64_t step = 1  # unsigned, because the product may overflow if another extent is 0
    out.shape = extents
    out.strides = extents + max(source.ndim, 0)
    for dim in range(source.ndim - 1, -1, -1):
        out.shape[dim] = source.shape[dim]
        out.strides[dim] = <int64_t>step if source.strides == NULL else source.strides[dim]
        step *= <uint64_t>max(source.shape[dim], 1)
