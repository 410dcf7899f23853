# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays as arguments, read through NumPy's C API.

This file initializes NumPy's C API when the first NumPy array is passed.  It does not import NumPy
earlier, because NumPy need not be installed.
"""

import sys

from cpython.ref cimport PyObject
from libc.stdint cimport int64_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    ArgumentRestriction, ArgumentView, CallState, Packer, Precedence, add_rule, extents_of,
    pack_temporary, return_view, take_view,
)

cdef extern from "numpy/arrayobject.h":
    """
    typedef char tvm_ffi_npy_intp_is_int64[sizeof(npy_intp) == sizeof(int64_t) ? 1 : -1];
    static int tvm_ffi_bind_numpy(void) { import_array1(-1); return 0; }
    """
    ctypedef Py_ssize_t npy_intp
    ctypedef struct PyArray_Descr:
        char kind
        char byteorder
        int type_num
    ctypedef struct PyArrayObject:
        pass
    int bind_numpy "tvm_ffi_bind_numpy"() except -1
    void* PyArray_DATA(PyArrayObject* array) noexcept
    int PyArray_NDIM(PyArrayObject* array) noexcept
    npy_intp* PyArray_DIMS(PyArrayObject* array) noexcept
    npy_intp* PyArray_STRIDES(PyArrayObject* array) noexcept
    int PyArray_FLAGS(PyArrayObject* array) noexcept
    npy_intp PyArray_ITEMSIZE(PyArrayObject* array) noexcept
    PyArray_Descr* PyArray_DESCR(PyArrayObject* array) noexcept
    bint PyArray_Check(object value) noexcept
    bint PyArray_ISNBO(char byteorder) noexcept
    enum:
        NPY_ARRAY_WRITEABLE
        NPY_BOOL, NPY_BYTE, NPY_UBYTE, NPY_SHORT, NPY_USHORT, NPY_INT, NPY_UINT, NPY_LONG
        NPY_ULONG, NPY_LONGLONG, NPY_ULONGLONG, NPY_FLOAT, NPY_DOUBLE, NPY_LONGDOUBLE
        NPY_CFLOAT, NPY_CDOUBLE, NPY_OBJECT, NPY_HALF, NPY_USERDEF

# `sys.modules` as a C variable, because conversion rules must not read module globals; see
# `add_rule`.
cdef dict _modules = sys.modules

# The DLPack dtype that corresponds to a NumPy dtype.
cdef struct _NumpyType:
    abi.DLDataType dtype  # the DLPack dtype; its `bits` are 0 if DLPack has no such dtype
    int log2_itemsize     # base-2 logarithm of the item size in bytes

cdef enum:
    NUM_NUMPY_TYPES = 32  # an upper bound of the number of NumPy's built-in types

cdef _NumpyType _numpy_types[NUM_NUMPY_TYPES]  # indexed by NumPy's type number
# (type code, bits) of the dtypes that extension packages such as ml_dtypes define, by NumPy dtype.
# An entry is added when the first array of the dtype is passed.
cdef dict _extension_dtypes = {}

# (type code, bits) of the dtypes of ml_dtypes that have the same memory layout in DLPack.  Dtypes
# with fewer than 8 bits are missing because their layouts differ: ml_dtypes stores each element in
# one byte, DLPack without padding.
_ML_DTYPES = {
    "bfloat16": (abi.kDLBfloat, 16),
    "float8_e3m4": (abi.kDLFloat8_e3m4, 8),
    "float8_e4m3": (abi.kDLFloat8_e4m3, 8),
    "float8_e4m3b11fnuz": (abi.kDLFloat8_e4m3b11fnuz, 8),
    "float8_e4m3fn": (abi.kDLFloat8_e4m3fn, 8),
    "float8_e4m3fnuz": (abi.kDLFloat8_e4m3fnuz, 8),
    "float8_e5m2": (abi.kDLFloat8_e5m2, 8),
    "float8_e5m2fnuz": (abi.kDLFloat8_e5m2fnuz, 8),
    "float8_e8m0fnu": (abi.kDLFloat8_e8m0fnu, 8),
}


cdef tuple _MASKED_ARRAY_MODULES = ("numpy.ma", "numpy.ma.core")


cdef void _add_numpy_type(int type_num, int code, size_t size_bytes) noexcept:
    cdef _NumpyType* numpy_type = &_numpy_types[type_num]
    numpy_type.dtype.code = <unsigned char>code
    numpy_type.dtype.bits = <unsigned char>(8 * size_bytes)
    numpy_type.dtype.lanes = 1
    numpy_type.log2_itemsize = 0
    while (<size_t>1 << numpy_type.log2_itemsize) < size_bytes:
        numpy_type.log2_itemsize += 1


cdef void _add_numpy_types() noexcept:
    # NumPy numbers its types by C type, so the type number of int64 depends on the platform.
    _add_numpy_type(NPY_BOOL, abi.kDLBool, 1)
    _add_numpy_type(NPY_BYTE, abi.kDLInt, sizeof(signed char))
    _add_numpy_type(NPY_SHORT, abi.kDLInt, sizeof(short))
    _add_numpy_type(NPY_INT, abi.kDLInt, sizeof(int))
    _add_numpy_type(NPY_LONG, abi.kDLInt, sizeof(long))
    _add_numpy_type(NPY_LONGLONG, abi.kDLInt, sizeof(long long))
    _add_numpy_type(NPY_UBYTE, abi.kDLUInt, sizeof(unsigned char))
    _add_numpy_type(NPY_USHORT, abi.kDLUInt, sizeof(unsigned short))
    _add_numpy_type(NPY_UINT, abi.kDLUInt, sizeof(unsigned int))
    _add_numpy_type(NPY_ULONG, abi.kDLUInt, sizeof(unsigned long))
    _add_numpy_type(NPY_ULONGLONG, abi.kDLUInt, sizeof(unsigned long long))
    _add_numpy_type(NPY_HALF, abi.kDLFloat, 2)
    _add_numpy_type(NPY_FLOAT, abi.kDLFloat, sizeof(float))
    _add_numpy_type(NPY_DOUBLE, abi.kDLFloat, sizeof(double))
    _add_numpy_type(NPY_CFLOAT, abi.kDLComplex, 2 * sizeof(float))
    _add_numpy_type(NPY_CDOUBLE, abi.kDLComplex, 2 * sizeof(double))


cdef object _dtype_of(PyObject* array):
    return <object><PyObject*>PyArray_DESCR(<PyArrayObject*>array)


cdef tuple _shape_of(PyObject* value):
    cdef PyArrayObject* array = <PyArrayObject*>value
    return tuple([PyArray_DIMS(array)[dim] for dim in range(PyArray_NDIM(array))])


cdef int _find_extension_dtype(PyObject* array, _NumpyType* out) except -1:
    """Store the DLPack dtype of an array whose dtype an extension package defines.

    Reads the dtype from the C struct, because a subclass may override the attribute `dtype`.
    Fails: TypeError if DLPack has no such dtype.
    """
    cdef object dtype = _dtype_of(array)
    cdef object code_and_bits = _extension_dtypes.get(dtype)
    if code_and_bits is None and dtype.type.__module__ == "ml_dtypes":
        code_and_bits = _ML_DTYPES.get(dtype.name)
        if code_and_bits is not None:
            _extension_dtypes[dtype] = code_and_bits
    if code_and_bits is None or 8 * PyArray_ITEMSIZE(<PyArrayObject*>array) != code_and_bits[1]:
        raise TypeError(
            f"DLPack has no dtype for the NumPy dtype {dtype} of the array "
            f"(shape={_shape_of(array)})")
    out.dtype.code, out.dtype.bits = code_and_bits
    out.dtype.lanes = 1
    out.log2_itemsize = out.dtype.bits // 16  # binary logarithm: 0 for 8 bits, 1 for 16
    return 0


cdef int _raise_byte_order(PyObject* array) except -1:
    """Raise TypeError: the array is not in native byte order."""
    raise TypeError(
        f"NumPy array must be in native byte order, got dtype {_dtype_of(array)!r}")


cdef int _check_unaligned_strides(PyObject* value) except -1:
    """Raise ValueError if a stride is not a multiple of the item size.

    Strides of dimensions with fewer than two items are not used and so may have any value.
    """
    cdef PyArrayObject* array = <PyArrayObject*>value
    cdef npy_intp itemsize = PyArray_ITEMSIZE(array), stride
    cdef tuple shape = _shape_of(value)
    if 0 in shape:
        return 0
    for dim in range(len(shape)):
        stride = PyArray_STRIDES(array)[dim]
        if stride % itemsize != 0 and shape[dim] > 1:
            raise ValueError(
                f"NumPy array: strides[{dim}] must be a multiple of the item size of {itemsize} "
                f"bytes, got {stride} bytes; copy the array first")
    return 0


# Rarely called ("cold") functions are called through pointers, which prevents the C compiler from
# inlining them.  The pointers have `noexcept` types: callers test for -1 with an exception set.
cdef int (*_cold_check_unaligned_strides)(PyObject* array) noexcept
cdef int (*_cold_raise_byte_order)(PyObject* array) noexcept
cdef int (*_cold_find_extension_dtype)(PyObject* array, _NumpyType* out) noexcept
_cold_check_unaligned_strides = <int (*)(PyObject*) noexcept>_check_unaligned_strides
_cold_raise_byte_order = <int (*)(PyObject*) noexcept>_raise_byte_order
_cold_find_extension_dtype = <int (*)(PyObject*, _NumpyType*) noexcept>_find_extension_dtype


cdef inline int _copy_array_extents(
    PyObject* value, ArgumentView* arg_view, int log2_itemsize
) noexcept:
    """Copy shape and strides into the argument view; convert strides from bytes to elements.

    The view must not refer to NumPy's shape and strides, which are freed when the array is
    reshaped. Fails: -1 with an exception set.
    """
    cdef PyArrayObject* array = <PyArrayObject*>value
    cdef int ndim = PyArray_NDIM(array)
    cdef const npy_intp* shape = PyArray_DIMS(array)
    cdef const npy_intp* strides = PyArray_STRIDES(array)
    cdef npy_intp item_mask = (<npy_intp>1 << log2_itemsize) - 1
    cdef int64_t* extents = extents_of(arg_view, ndim)
    cdef npy_intp stride_bits = 0
    cdef int dim
    if extents == NULL:
        return -1
    for dim in range(ndim):
        stride_bits |= strides[dim]
        extents[dim] = shape[dim]
        # Arithmetic shift: keeps the sign of the stride.
        extents[ndim + dim] = strides[dim] >> log2_itemsize
    arg_view.tensor.ndim = ndim
    arg_view.tensor.shape = extents
    arg_view.tensor.strides = extents + ndim
    return 0 if (stride_bits & item_mask) == 0 else _cold_check_unaligned_strides(value)


cdef inline int _fill_view(PyObject* value, ArgumentView* arg_view) noexcept:
    """Fill an argument view with dtype, shape, strides and address of an array.

    The view borrows the memory of the array.

    Fails: -1 with an exception set.
    """
    cdef PyArrayObject* array = <PyArrayObject*>value
    cdef const PyArray_Descr* descr = PyArray_DESCR(array)
    cdef int type_num = descr.type_num
    cdef _NumpyType extension_dtype
    cdef const _NumpyType* numpy_type = &extension_dtype
    if not PyArray_ISNBO(descr.byteorder):
        return _cold_raise_byte_order(value)
    if 0 <= type_num < NUM_NUMPY_TYPES and _numpy_types[type_num].dtype.bits != 0:
        numpy_type = &_numpy_types[type_num]
    elif _cold_find_extension_dtype(value, &extension_dtype) != 0:
        return -1
    arg_view.tensor.data = PyArray_DATA(array)
    arg_view.tensor.device.device_type = abi.kDLCPU
    arg_view.tensor.device.device_id = 0
    arg_view.tensor.dtype = numpy_type.dtype
    arg_view.tensor.byte_offset = 0
    return _copy_array_extents(value, arg_view, numpy_type.log2_itemsize)


cdef int _pack_array(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) noexcept:
    cdef ArgumentView* arg_view = take_view(_free_views, abi.kTVMFFITensor, value)
    if arg_view == NULL:
        return -1
    if _fill_view(value, arg_view) != 0:
        return_view(_free_views, arg_view)
        return -1
    if pack_temporary(state, out, abi.kTVMFFITensor, arg_view) != 0:
        return -1
    if PyArray_FLAGS(<PyArrayObject*>value) & NPY_ARRAY_WRITEABLE:
        return 0
    state.restriction = ArgumentRestriction.READ_ONLY_ARRAY
    return _cold_make_read_only(out, state)


cdef bint _array_rule(type cls, object value, Packer* packer) except -1:
    """Set the packer for NumPy arrays; return False if the class is not an array class.

    Also returns False for subclasses with their own `__dlpack__`, which the DLPack rule handles.
    Fails: TypeError for masked arrays.
    """
    for base in cls.__mro__:
        if base.__name__ == "MaskedArray" and base.__module__ in _MASKED_ARRAY_MODULES:
            raise TypeError(
                "expected an array without a mask, got a masked array; pass array.filled(value), "
                "or array.data and numpy.ma.getmaskarray(array) as two arguments")
        # Compare the class name before calling `bind_numpy`, because NumPy may not be installed.
        if base.__module__ == "numpy" and base.__name__ == "ndarray" and "numpy" in _modules:
            bind_numpy()
            if PyArray_Check(value):
                packer.pack = _pack_array
                return True
        if "__dlpack__" in vars(base):
            return False
    return False


_add_numpy_types()
add_rule(Precedence.NUMPY_ARRAY, _array_rule)
