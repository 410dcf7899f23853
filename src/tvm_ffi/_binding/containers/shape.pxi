# SPDX-License-Identifier: Apache-2.0
"""Shape: a tuple of int in Python, an `ffi.Shape` object with int64_t extents in native code."""

from cpython.ref cimport PyObject
from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    CallState, PackFunction, Packer, Precedence, add_rule, add_unpacker, pack_temporary,
)
from tvm_ffi._binding.cpython cimport PyLong_CheckExact, PySequence_Tuple, long_and_overflow
from tvm_ffi._binding.object cimport CObject, check, handle_of

from tvm_ffi._binding.call import runtime_function
from tvm_ffi._binding.values import PyNativeObject

cdef CObject _make_native_shape = runtime_function("ffi.Shape")


class Shape(tuple, PyNativeObject):
    """Extents of a tensor, a tuple of int.

    Parameters
    ----------
    content : iterable of int
        One extent per dimension, each within 64 bits.

    Raises
    ------
    ValueError
        If an extent is not an integer or does not fit 64 bits.
    """

    def __new__(cls, content):
        cdef tuple extents = PySequence_Tuple(content)
        cdef Py_ssize_t i
        cdef int overflow = 0
        for i in range(len(extents)):
            if not PyLong_CheckExact(extents[i]):
                return tuple.__new__(cls, _integers(extents))
            long_and_overflow(extents[i], &overflow)
            if overflow != 0:
                raise ValueError(
                    f"Shape extent {extents[i]} does not fit a signed integer of 64 bits")
        return tuple.__new__(cls, extents)

    @staticmethod
    def __from_tvm_ffi_object__(value_class, obj):
        """Return the Python value of a native shape."""
        cdef abi.TVMFFIObjectHandle handle = handle_of(obj)
        if (<abi.TVMFFIObject*>handle).type_index != abi.kTVMFFIShape:
            raise TypeError(f"Shape: expected an object of type `ffi.Shape`, got {obj!r}")
        return tuple.__new__(value_class, _extents_of(handle))


cdef list _integers(tuple extents):
    """Return the extents as int.  Fails: ValueError if an extent is not a 64-bit integer."""
    cdef list checked = []
    cdef int overflow = 0
    for extent in extents:
        if not hasattr(extent, "__index__"):
            raise ValueError(
                f"Shape must be a tuple of integers, got {type(extent).__name__} at position "
                f"{len(checked)}")
        checked.append(int(extent.__index__()))
        long_and_overflow(checked[-1], &overflow)
        if overflow != 0:
            raise ValueError(f"Shape extent {extent} does not fit a signed integer of 64 bits")
    return checked


cdef int _pack_shape(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    cdef tuple extents = <tuple>value
    cdef size_t count = len(extents), i
    cdef abi.TVMFFIAny result
    cdef abi.TVMFFIAny* args = <abi.TVMFFIAny*>malloc(count * sizeof(abi.TVMFFIAny) + 1)
    if args == NULL:
        raise MemoryError()
    try:
        for i in range(count):
            args[i].type_index = abi.kTVMFFIInt
            args[i].zero_padding = 0
            args[i].v_int64 = extents[i]
        result.type_index = abi.kTVMFFINone
        result.v_uint64 = 0
        check(abi.TVMFFIFunctionCall(
            handle_of(_make_native_shape), args, <int32_t>count, &result))
    finally:
        free(args)
    return pack_temporary(state, out, abi.kTVMFFIShape, result.v_obj)


# `Shape` in a C variable, because conversion rules must not read module globals; see `add_rule`.
cdef type _shape_class = Shape


cdef bint _shape_rule(type cls, object value, Packer* packer) except -1:
    if not issubclass(cls, _shape_class):
        return False
    packer.pack = <PackFunction>_pack_shape
    return True


cdef list _extents_of(abi.TVMFFIObjectHandle shape):
    cdef abi.TVMFFIShapeCell* cell = abi.TVMFFIShapeGetCellPtr(shape)
    return [cell.data[i] for i in range(cell.size)]


cdef object _unpack_shape(abi.TVMFFIAny* owned, CallState* state):
    try:
        return tuple.__new__(Shape, _extents_of(owned.v_obj))
    finally:
        abi.TVMFFIObjectDecRef(owned.v_obj)


add_rule(Precedence.SHAPE, _shape_rule)
add_unpacker(abi.kTVMFFIShape, _unpack_shape)
