# SPDX-License-Identifier: Apache-2.0
"""Python buffers as tensors: `array.array`, `memoryview`, and other classes with the protocol.

The tensor acquires the buffer until the tensor is destroyed.  The exporter then keeps the memory in
place; for example, an `array.array` cannot be resized.
"""

from cpython.buffer cimport PyBUF_FORMAT, PyBUF_STRIDED_RO, PyObject_CheckBuffer
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t
from libc.stdlib cimport free

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    ArgumentRestriction, CallState, PackFunction, Packer, Precedence, add_rule, get_packer,
    pack_temporary,
)
from tvm_ffi._binding.cpython cimport PyErr_Clear
from tvm_ffi._binding.object cimport check

# DLPack type codes by the last characters of a buffer format, in the notation of `struct`; NumPy
# adds "Z" for complex numbers.  The size of an element is not part of the format.
cdef dict _BUFFER_CODES = {
    "?": abi.kDLBool, "B": abi.kDLUInt, "H": abi.kDLUInt, "I": abi.kDLUInt, "L": abi.kDLUInt,
    "Q": abi.kDLUInt, "N": abi.kDLUInt, "c": abi.kDLUInt, "b": abi.kDLInt, "h": abi.kDLInt,
    "i": abi.kDLInt, "l": abi.kDLInt, "q": abi.kDLInt, "n": abi.kDLInt, "e": abi.kDLFloat,
    "f": abi.kDLFloat, "d": abi.kDLFloat, "Zf": abi.kDLComplex, "Zd": abi.kDLComplex,
}
# Characters at the beginning of a format that mean the byte order of this machine.
cdef str _NATIVE_ORDERS = "@=<" if sys.byteorder == "little" else "@=>!"


cdef int _describe_elements(const Py_buffer* buffer, abi.DLDataType* dtype) except -1:
    """Store the dtype of the elements of a buffer.  Fails: TypeError if DLPack lacks the dtype."""
    cdef str text = "B" if buffer.format == NULL else buffer.format.decode("utf-8", "replace")
    cdef str element = text
    if text[:1] in _NATIVE_ORDERS or (text[:1] in "<>!" and buffer.itemsize == 1):
        element = text[1:]
    code = _BUFFER_CODES.get(element)
    if code is None:
        raise TypeError(
            f"DLPack has no dtype for a buffer of format {text!r} with elements of "
            f"{buffer.itemsize} bytes; expected numbers in native byte order")
    dtype.code, dtype.bits, dtype.lanes = code, <unsigned char>(8 * buffer.itemsize), 1
    return 0


cdef int _describe_extents(const Py_buffer* buffer, int64_t* extents) except -1:
    """Store the shape of a buffer, then its strides, which are converted to elements.

    Fails: ValueError if a stride is not a multiple of the item size.
    """
    cdef int dim
    for dim in range(buffer.ndim):
        extents[dim] = buffer.shape[dim]
        extents[buffer.ndim + dim] = buffer.strides[dim] // buffer.itemsize
        if buffer.strides[dim] % buffer.itemsize != 0 and extents[dim] > 1:
            raise ValueError(
                f"buffer: strides[{dim}] must be a multiple of the item size of "
                f"{buffer.itemsize} bytes, got {buffer.strides[dim]} bytes; copy the data first")
    return 0


cdef abi.TVMFFIObjectHandle _new_tensor_of_buffer(_BufferOwner owner) except NULL:
    """Return an owned tensor over an acquired buffer; the tensor keeps the buffer acquired."""
    cdef abi.DLDataType dtype
    cdef abi.TVMFFIObjectHandle handle = NULL
    cdef _ContentTensor* tensor
    _describe_elements(&owner.buffer, &dtype)
    tensor = _new_content_tensor(owner.buffer.ndim, dtype)
    try:
        _describe_extents(&owner.buffer, tensor.managed.dl_tensor.shape)
    except BaseException:
        free(tensor)
        raise
    _set_content(tensor, owner, owner.buffer.buf, owner.buffer.readonly)
    if abi.TVMFFITensorFromDLPackVersioned(&tensor.managed, 0, 0, &handle) != 0:
        _delete_content_tensor(&tensor.managed)
        check(-1)
    return handle


cdef int _pack_buffer(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    cdef _BufferOwner owner = _acquire_buffer(<object>value, PyBUF_STRIDED_RO | PyBUF_FORMAT)
    cdef abi.TVMFFIObjectHandle tensor = _new_tensor_of_buffer(owner)
    if owner.buffer.readonly:
        state.restriction = ArgumentRestriction.READ_ONLY_ARRAY
    return pack_temporary(state, out, abi.kTVMFFITensor, tensor)


def is_buffer(value) -> bool:
    """Return True if a value is passed as a tensor because its class has the buffer protocol."""
    cdef const Packer* packer = get_packer(<PyObject*>value)
    if packer == NULL:  # the class is refused as an argument
        PyErr_Clear()
        return False
    return packer.pack == <PackFunction>_pack_buffer


cdef bint _buffer_rule(type cls, object value, Packer* packer) except -1:
    """Set the packer for classes with the buffer protocol, except for those of single values.

    Objects of ctypes are no arrays of numbers but C values: pointers, structs and their arrays.
    """
    if not PyObject_CheckBuffer(value):
        return False
    if cls is not memoryview:
        for base in cls.__mro__:
            if base.__module__ == "_ctypes" or base.__module__ == "numpy":
                return False
    packer.pack = <PackFunction>_pack_buffer
    return True


add_rule(Precedence.BUFFER, _buffer_rule)
