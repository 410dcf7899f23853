# SPDX-License-Identifier: Apache-2.0
"""Content of CPU tensors as bytes, and tensors over bytes; see `tensor/tensor_content.pxd`.

Pickling avoids copies: a compact tensor exposes its memory as a buffer, and unpickling uses the
buffer as the memory of the new tensor.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_Resize
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.values cimport device_of, dtype_of
from tvm_ffi._binding.object cimport (
    HandleOwner, check, own_python_object, release_python_object, share_handle,
)

cdef enum:
    ALIGNMENT = 16  # bytes; the alignment of malloc, which suffices for every dtype

cdef const char* _NO_BYTES = b""


# ---- content of a tensor -------------------------------------------------------------------

cdef Py_ssize_t content_size_bytes(const abi.DLTensor* tensor) except -1:
    cdef int bits = tensor.dtype.bits
    if tensor.device.device_type != abi.kDLCPU:
        raise TypeError(
            "pickle or copy: expected a tensor in CPU memory, got one on "
            f"{device_of(tensor.device)}; copy it to the CPU first")
    # Opaque handles are addresses.  A dtype with 2^15 or more lanes is a scalable vector, whose
    # size is unknown.
    if tensor.dtype.code == abi.kDLOpaqueHandle or bits == 0 or tensor.dtype.lanes >= 0x8000:
        raise TypeError(
            f"tensors of {dtype_of(tensor.dtype)!r} cannot be pickled or copied: their bytes are "
            "valid in this process only")
    return _size_bytes(tensor.shape, tensor.ndim, tensor.dtype)


cdef Py_ssize_t _size_bytes(const int64_t* extents, int ndim, abi.DLDataType dtype) except -1:
    """Return the size of a compact tensor with these extents in bytes.

    Fails: ValueError for a negative extent, OverflowError if the size does not fit 64 bits.
    """
    # A Python int, which cannot overflow.
    cdef object size_bits = <int>dtype.bits * <int>dtype.lanes
    cdef int dim
    for dim in range(ndim):
        if extents[dim] < 0:
            raise ValueError(f"tensor content: expected extents >= 0, got {extents[dim]}")
        size_bits *= extents[dim]
    return (size_bits + 7) // 8


cdef bint is_compact(const abi.DLTensor* tensor) noexcept:
    cdef uint64_t step = 1  # unsigned, because the product may overflow if another extent is 0
    cdef bint is_compact_so_far = True
    cdef int dim
    if tensor.strides == NULL:
        return True
    for dim in range(tensor.ndim - 1, -1, -1):
        if tensor.shape[dim] == 0:
            return True
        if tensor.shape[dim] != 1 and <uint64_t>tensor.strides[dim] != step:
            is_compact_so_far = False
        step *= <uint64_t>tensor.shape[dim]
    return is_compact_so_far


cdef const char* _first_element(const abi.DLTensor* tensor) noexcept nogil:
    return <const char*>tensor.data + tensor.byte_offset


cdef void _copy_row(
    char* out, const char* row, int64_t count, int64_t step_bytes, size_t element_bytes
) noexcept nogil:
    """Copy `count` elements that are `step_bytes` apart.

    For the frequent element sizes, the size is a constant, so that `memcpy` compiles to one move.
    """
    cdef int64_t i
    if element_bytes == 1:
        for i in range(count):
            out[i] = row[i * step_bytes]
    elif element_bytes == 2:
        for i in range(count):
            memcpy(out + 2 * i, row + i * step_bytes, 2)
    elif element_bytes == 4:
        for i in range(count):
            memcpy(out + 4 * i, row + i * step_bytes, 4)
    elif element_bytes == 8:
        for i in range(count):
            memcpy(out + 8 * i, row + i * step_bytes, 8)
    else:
        for i in range(count):
            memcpy(out + <int64_t>element_bytes * i, row + i * step_bytes, element_bytes)


cdef char* _gather(
    char* out, const char* first, const int64_t* shape, const int64_t* strides, int ndim,
    int64_t element_bytes,
) noexcept nogil:
    """Copy the elements in row-major order to `out`; return the end of the copied bytes."""
    cdef int64_t i
    if ndim == 1:
        _copy_row(out, first, shape[0], strides[0] * element_bytes, element_bytes)
        return out + shape[0] * element_bytes
    for i in range(shape[0]):
        out = _gather(
            out, first + i * strides[0] * element_bytes, shape + 1, strides + 1, ndim - 1,
            element_bytes)
    return out


cdef bytearray _new_bytearray(Py_ssize_t size_bytes):
    """Return a bytearray without content.

    `PyByteArray_FromStringAndSize` prints a SystemError if it runs out of memory, because it
    destroys an object that is not initialized.
    """
    cdef bytearray created = bytearray()
    PyByteArray_Resize(created, size_bytes)
    return created


cdef bytearray copy_content(const abi.DLTensor* tensor, bint releases_gil):
    cdef Py_ssize_t size_bytes = content_size_bytes(tensor)
    cdef int element_bits = <int>tensor.dtype.bits * <int>tensor.dtype.lanes
    cdef bytearray copied = _new_bytearray(size_bytes)
    cdef char* out = PyByteArray_AS_STRING(copied)
    if size_bytes == 0:
        return copied
    if is_compact(tensor):
        memcpy(out, _first_element(tensor), size_bytes)
        return copied
    if element_bits % 8 != 0:
        raise TypeError(
            f"tensors of {dtype_of(tensor.dtype)!r} can be pickled or copied only when they are "
            "contiguous: several elements share a byte")
    if not releases_gil:
        _gather_all(out, tensor)
        return copied
    with nogil:
        _gather_all(out, tensor)
    return copied


cdef void _gather_all(char* out, const abi.DLTensor* tensor) noexcept nogil:
    _gather(
        out, _first_element(tensor), tensor.shape, tensor.strides, tensor.ndim,
        <int>tensor.dtype.bits * <int>tensor.dtype.lanes // 8)


cdef class _ContentView(HandleOwner):
    """Python buffer over the memory of a compact tensor."""

    cdef const char* data
    cdef Py_ssize_t size_bytes
    cdef bint is_read_only

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(
            buffer, self, <void*>self.data, self.size_bytes, self.is_read_only, flags)


cdef object view_content(abi.TVMFFIObjectHandle handle, bint is_read_only):
    cdef const abi.DLTensor* tensor = abi.TVMFFITensorGetDLTensorPtr(handle)
    cdef _ContentView view = _ContentView.__new__(_ContentView)
    view.size_bytes = content_size_bytes(tensor)
    share_handle(view, handle)
    view.data = _NO_BYTES
    if view.size_bytes != 0:
        view.data = _first_element(tensor)
    view.is_read_only = is_read_only
    return view


# ---- tensor over content -------------------------------------------------------------------

# The DLPack export from which the runtime creates a tensor over content.  The shape and the strides
# follow this struct in the same allocation.
cdef struct _ContentTensor:
    abi.DLManagedTensorVersioned managed  # `managed.manager_ctx` is the address of this struct
    PyObject* owner                       # owned reference to the object that owns the memory


cdef void _delete_content_tensor(abi.DLManagedTensorVersioned* managed) noexcept nogil:
    """Free an export and release the owner of its memory.  Threads: any."""
    cdef _ContentTensor* tensor = <_ContentTensor*>managed.manager_ctx
    release_python_object(tensor.owner)
    free(tensor)


cdef class _BufferOwner:
    """Owner of an acquired Python buffer, whose memory stays valid as long as the owner."""

    cdef Py_buffer buffer
    cdef bint is_acquired

    def __dealloc__(self):
        if self.is_acquired:
            PyBuffer_Release(&self.buffer)


cdef _BufferOwner _acquire_buffer(object view, int flags):
    cdef _BufferOwner owner = _BufferOwner.__new__(_BufferOwner)
    PyObject_GetBuffer(view, &owner.buffer, flags)
    owner.is_acquired = True
    return owner


cdef _BufferOwner _usable_buffer(object content, Py_ssize_t size_bytes, bint is_read_only):
    """Return the owner of an aligned buffer with the bytes of `content`.

    The buffer is writable unless `is_read_only` is True.  It is a copy if the memory of `content`
    is not suitable.  Fails: ValueError if the size of `content` is not `size_bytes`, TypeError if
    `content` is not a buffer.
    """
    cdef _BufferOwner owner = _acquire_buffer(content, PyBUF_SIMPLE)
    if owner.buffer.len != size_bytes:
        raise ValueError(
            f"tensor content: expected {size_bytes} bytes for the shape and dtype of the tensor, "
            f"got {owner.buffer.len} bytes")
    if (owner.buffer.readonly and not is_read_only) or (
        <uintptr_t>owner.buffer.buf % ALIGNMENT != 0
    ):
        copied = _new_bytearray(size_bytes)
        memcpy(PyByteArray_AS_STRING(copied), owner.buffer.buf, size_bytes)
        owner = _acquire_buffer(copied, PyBUF_SIMPLE)
    return owner


cdef abi.TVMFFIObjectHandle new_tensor_of_content(
    object content, tuple shape, abi.DLDataType dtype, bint is_read_only
) except NULL:
    cdef int ndim = <int>len(shape)
    cdef abi.TVMFFIObjectHandle handle = NULL
    cdef _BufferOwner owner
    cdef _ContentTensor* tensor = _new_content_tensor(ndim, dtype)
    try:
        # Convert the extents only once, because a second call of `__index__` may return another
        # number.
        _describe_compact(tensor.managed.dl_tensor.shape, shape)
        owner = _usable_buffer(
            content, _size_bytes(tensor.managed.dl_tensor.shape, ndim, dtype), is_read_only)
    except BaseException:
        free(tensor)
        raise
    _set_content(tensor, owner, owner.buffer.buf, is_read_only)
    if abi.TVMFFITensorFromDLPackVersioned(&tensor.managed, 0, 0, &handle) != 0:
        _delete_content_tensor(&tensor.managed)
        check(-1)
    return handle


cdef _ContentTensor* _new_content_tensor(int ndim, abi.DLDataType dtype) except NULL:
    """Return a CPU tensor whose shape, strides, data, flags and owner are not set yet."""
    cdef _ContentTensor* tensor = <_ContentTensor*>malloc(
        sizeof(_ContentTensor) + 2 * <size_t>ndim * sizeof(int64_t))
    if tensor == NULL:
        raise MemoryError()
    tensor.managed.version.major = abi.DLPACK_MAJOR_VERSION
    tensor.managed.version.minor = abi.DLPACK_MINOR_VERSION
    tensor.managed.manager_ctx = tensor
    tensor.managed.deleter = _delete_content_tensor
    tensor.managed.dl_tensor.device.device_type = abi.kDLCPU
    tensor.managed.dl_tensor.device.device_id = 0
    tensor.managed.dl_tensor.ndim = ndim
    tensor.managed.dl_tensor.dtype = dtype
    tensor.managed.dl_tensor.shape = <int64_t*>(tensor + 1)
    tensor.managed.dl_tensor.strides = <int64_t*>(tensor + 1) + ndim
    tensor.managed.dl_tensor.byte_offset = 0
    return tensor


cdef void _set_content(
    _ContentTensor* tensor, object owner, void* data, bint is_read_only
) noexcept:
    """Set data, flags and owner of a tensor.  The deleter of the tensor then releases the owner."""
    tensor.managed.dl_tensor.data = data
    tensor.managed.flags = abi.DLPACK_FLAG_BITMASK_READ_ONLY if is_read_only else 0
    own_python_object(owner)
    tensor.owner = <PyObject*>owner


cdef int _describe_compact(int64_t* extents, tuple shape) except -1:
    """Store the extents of a compact tensor, then its strides."""
    cdef int ndim = <int>len(shape)
    cdef uint64_t step = 1
    cdef int dim
    for dim in range(ndim - 1, -1, -1):
        extents[dim] = shape[dim]
        extents[ndim + dim] = <int64_t>step
        step *= <uint64_t>max(extents[dim], 1)
    return 0
