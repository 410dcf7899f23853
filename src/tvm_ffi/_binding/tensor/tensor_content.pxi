# SPDX-License-Identifier: Apache-2.0
"""The content of CPU tensors as bytes, and tensors over bytes; see `tensor/tensor_content.pxd`.

Large contents are copied as little as possible: a compact tensor shows its own memory, and a
received buffer becomes the memory of the new tensor.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
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
    ALIGNMENT = 16  # bytes; what memory allocators give, and enough for any element

cdef const char* _NO_BYTES = b""


# ---- content of a tensor -------------------------------------------------------------------

cdef Py_ssize_t content_size_bytes(const abi.DLTensor* tensor) except -1:
    cdef int bits = tensor.dtype.bits
    if tensor.device.device_type != abi.kDLCPU:
        raise TypeError(
            f"the tensor is on {device_of(tensor.device)}: only tensors in CPU memory can be "
            "pickled or copied; copy it to the CPU first")
    # Handles are addresses; lanes beyond 2^15 count multiples of a hardware vector's length.
    if tensor.dtype.code == abi.kDLOpaqueHandle or bits == 0 or tensor.dtype.lanes >= 0x8000:
        raise TypeError(
            f"tensors of {dtype_of(tensor.dtype)!r} cannot be pickled or copied: their bytes mean "
            "nothing elsewhere")
    return _size_bytes(tensor.shape, tensor.ndim, tensor.dtype)


cdef Py_ssize_t _size_bytes(const int64_t* extents, int ndim, abi.DLDataType dtype) except -1:
    """Bytes of a compact tensor; OverflowError when they are more than there can be."""
    cdef object size_bits = <int>dtype.bits * <int>dtype.lanes  # without bounds
    cdef int dim
    for dim in range(ndim):
        if extents[dim] < 0:
            raise ValueError(f"extents must be >= 0, got {extents[dim]}")
        size_bits *= extents[dim]
    return (size_bits + 7) // 8


cdef bint is_compact(const abi.DLTensor* tensor) noexcept:
    cdef uint64_t step = 1  # unsigned: absurd extents beside one of 0 may overflow
    cdef bint answer = True
    cdef int dim
    if tensor.strides == NULL:
        return True
    for dim in range(tensor.ndim - 1, -1, -1):
        if tensor.shape[dim] == 0:
            return True
        if tensor.shape[dim] != 1 and <uint64_t>tensor.strides[dim] != step:
            answer = False
        step *= <uint64_t>tensor.shape[dim]
    return answer


cdef const char* _first_element(const abi.DLTensor* tensor) noexcept nogil:
    return <const char*>tensor.data + tensor.byte_offset


cdef void _copy_row(
    char* out, const char* row, int64_t count, int64_t step_bytes, size_t element_bytes
) noexcept nogil:
    """Copy elements that lie `step_bytes` apart; sizes that are constants compile to one move."""
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
    """Copy the elements in row-major order; returns what follows the last one."""
    cdef int64_t i
    if ndim == 1:
        _copy_row(out, first, shape[0], strides[0] * element_bytes, element_bytes)
        return out + shape[0] * element_bytes
    for i in range(shape[0]):
        out = _gather(
            out, first + i * strides[0] * element_bytes, shape + 1, strides + 1, ndim - 1,
            element_bytes)
    return out


cdef bytearray copy_content(const abi.DLTensor* tensor, bint releases_gil):
    cdef Py_ssize_t size_bytes = content_size_bytes(tensor)
    cdef int element_bits = <int>tensor.dtype.bits * <int>tensor.dtype.lanes
    cdef bytearray copied = PyByteArray_FromStringAndSize(NULL, size_bytes)
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
    """The memory of a compact tensor as a buffer of bytes."""

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


# ---- tensor of a content -------------------------------------------------------------------

cdef struct _ContentTensor:
    abi.DLManagedTensorVersioned managed
    PyObject* owner  # owned: a _HeldBuffer
    # shape and strides follow


cdef void _delete_content_tensor(abi.DLManagedTensorVersioned* managed) noexcept nogil:
    cdef _ContentTensor* tensor = <_ContentTensor*>managed.manager_ctx
    release_python_object(tensor.owner)
    free(tensor)


cdef class _HeldBuffer:
    """Memory that stays where it is as long as this lives, whoever releases views of it."""

    cdef Py_buffer buffer
    cdef bint is_held

    def __dealloc__(self):
        if self.is_held:
            PyBuffer_Release(&self.buffer)


cdef _HeldBuffer _hold_buffer(object view):
    cdef _HeldBuffer held = _HeldBuffer.__new__(_HeldBuffer)
    PyObject_GetBuffer(view, &held.buffer, PyBUF_SIMPLE)
    held.is_held = True
    return held


cdef _HeldBuffer _usable_buffer(object content, Py_ssize_t size_bytes, bint is_read_only):
    """A buffer that has the size, may be written to if need be, and is aligned."""
    cdef _HeldBuffer held = _hold_buffer(content)
    if held.buffer.len != size_bytes:
        raise ValueError(f"the tensor needs {size_bytes} bytes of content, got {held.buffer.len}")
    if (held.buffer.readonly and not is_read_only) or (
        <uintptr_t>held.buffer.buf % ALIGNMENT != 0
    ):
        held = _hold_buffer(PyByteArray_FromStringAndSize(<char*>held.buffer.buf, size_bytes))
    return held


cdef abi.TVMFFIObjectHandle new_tensor_of_content(
    object content, tuple shape, abi.DLDataType dtype, bint is_read_only
) except NULL:
    cdef int ndim = <int>len(shape)
    cdef abi.TVMFFIObjectHandle handle = NULL
    cdef _HeldBuffer held
    cdef _ContentTensor* tensor = <_ContentTensor*>malloc(
        sizeof(_ContentTensor) + 2 * <size_t>ndim * sizeof(int64_t))
    if tensor == NULL:
        raise MemoryError()
    try:
        # Extents are read once: they may be numbers that are never the same twice.
        _describe(tensor, shape, ndim, dtype)
        held = _usable_buffer(
            content, _size_bytes(tensor.managed.dl_tensor.shape, ndim, dtype), is_read_only)
    except BaseException:
        free(tensor)
        raise
    tensor.managed.dl_tensor.data = held.buffer.buf
    tensor.managed.flags = abi.DLPACK_FLAG_BITMASK_READ_ONLY if is_read_only else 0
    own_python_object(held)
    tensor.owner = <PyObject*>held
    if abi.TVMFFITensorFromDLPackVersioned(&tensor.managed, 0, 0, &handle) != 0:
        _delete_content_tensor(&tensor.managed)
        check(-1)
    return handle


cdef int _describe(
    _ContentTensor* tensor, tuple shape, int ndim, abi.DLDataType dtype
) except -1:
    cdef int64_t* extents = <int64_t*>(tensor + 1)
    cdef uint64_t step = 1
    cdef int dim
    for dim in range(ndim - 1, -1, -1):
        extents[dim] = shape[dim]
        extents[ndim + dim] = <int64_t>step
        step *= <uint64_t>max(extents[dim], 1)
    tensor.managed.version.major = abi.DLPACK_MAJOR_VERSION
    tensor.managed.version.minor = abi.DLPACK_MINOR_VERSION
    tensor.managed.manager_ctx = tensor
    tensor.managed.deleter = _delete_content_tensor
    tensor.managed.dl_tensor.device.device_type = abi.kDLCPU
    tensor.managed.dl_tensor.device.device_id = 0
    tensor.managed.dl_tensor.ndim = ndim
    tensor.managed.dl_tensor.dtype = dtype
    tensor.managed.dl_tensor.shape = extents
    tensor.managed.dl_tensor.strides = extents + ndim
    tensor.managed.dl_tensor.byte_offset = 0
    return 0
