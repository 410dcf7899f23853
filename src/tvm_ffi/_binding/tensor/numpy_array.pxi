# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays as argument tensors, read through NumPy's C API.

NumPy is never imported from here: the C API is bound when the first array arrives, and by then
somebody has imported it.
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

# For the rule, see `add_rule`.
cdef dict _modules = sys.modules

# DLPack type by NumPy's type number, and the binary logarithm of the item size in bytes; bits 0:
# not supported.
cdef struct _KnownType:
    abi.DLDataType dtype
    int log2_itemsize

cdef enum:
    NUM_KNOWN_TYPES = 32

cdef _KnownType _known_types[NUM_KNOWN_TYPES]
# The same for types of extension packages, by the number NumPy gave them; filled as met.
cdef dict _extension_dtypes = {}

# Types of ml_dtypes whose memory layout DLPack shares: (type code, bits).  Its types below 8 bits
# spend a byte per element, which DLPack has no way to say without padding.
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


cdef void _set_dtype(int number, int code, size_t size_bytes) noexcept:
    cdef _KnownType* known = &_known_types[number]
    known.dtype.code = <unsigned char>code
    known.dtype.bits = <unsigned char>(8 * size_bytes)
    known.dtype.lanes = 1
    known.log2_itemsize = 0
    while (<size_t>1 << known.log2_itemsize) < size_bytes:
        known.log2_itemsize += 1


cdef void _fill_dtypes() noexcept:
    # By C type, as NumPy numbers them: which one int64 is depends on the platform.
    _set_dtype(NPY_BOOL, abi.kDLBool, 1)
    _set_dtype(NPY_BYTE, abi.kDLInt, sizeof(signed char))
    _set_dtype(NPY_SHORT, abi.kDLInt, sizeof(short))
    _set_dtype(NPY_INT, abi.kDLInt, sizeof(int))
    _set_dtype(NPY_LONG, abi.kDLInt, sizeof(long))
    _set_dtype(NPY_LONGLONG, abi.kDLInt, sizeof(long long))
    _set_dtype(NPY_UBYTE, abi.kDLUInt, sizeof(unsigned char))
    _set_dtype(NPY_USHORT, abi.kDLUInt, sizeof(unsigned short))
    _set_dtype(NPY_UINT, abi.kDLUInt, sizeof(unsigned int))
    _set_dtype(NPY_ULONG, abi.kDLUInt, sizeof(unsigned long))
    _set_dtype(NPY_ULONGLONG, abi.kDLUInt, sizeof(unsigned long long))
    _set_dtype(NPY_HALF, abi.kDLFloat, 2)
    _set_dtype(NPY_FLOAT, abi.kDLFloat, sizeof(float))
    _set_dtype(NPY_DOUBLE, abi.kDLFloat, sizeof(double))
    _set_dtype(NPY_CFLOAT, abi.kDLComplex, 2 * sizeof(float))
    _set_dtype(NPY_CDOUBLE, abi.kDLComplex, 2 * sizeof(double))


cdef object _dtype_of(PyObject* array):
    return <object><PyObject*>PyArray_DESCR(<PyArrayObject*>array)


cdef tuple _shape_of(PyObject* value):
    cdef PyArrayObject* array = <PyArrayObject*>value
    return tuple([PyArray_DIMS(array)[dim] for dim in range(PyArray_NDIM(array))])


cdef int _find_extension_type(PyObject* array, _KnownType* out) except -1:
    """The type of an array from an extension package, or a TypeError.

    The dtype is what NumPy's C code works with: the attribute may be what a subclass says.
    """
    cdef object dtype = _dtype_of(array)
    cdef object known = _extension_dtypes.get(dtype)
    if known is None and dtype.type.__module__ == "ml_dtypes":
        known = _ML_DTYPES.get(dtype.name)
        if known is not None:
            _extension_dtypes[dtype] = known
    if known is None or 8 * PyArray_ITEMSIZE(<PyArrayObject*>array) != known[1]:
        raise TypeError(f"NumPy dtype {dtype} has no DLPack form (shape={_shape_of(array)})")
    out.dtype.code, out.dtype.bits = known
    out.dtype.lanes = 1
    out.log2_itemsize = out.dtype.bits // 16  # 8 or 16 bits
    return 0


cdef int _raise_byte_order(PyObject* array) except -1:
    raise TypeError(
        f"NumPy array must be in native byte order, got dtype {_dtype_of(array)!r}")


cdef int _check_odd_strides(PyObject* value) except -1:
    """A stride that ends between items is fine where no second item follows."""
    cdef PyArrayObject* array = <PyArrayObject*>value
    cdef npy_intp itemsize = PyArray_ITEMSIZE(array), stride
    cdef tuple shape = _shape_of(value)
    if 0 in shape:
        return 0
    for dim in range(len(shape)):
        stride = PyArray_STRIDES(array)[dim]
        if stride % itemsize != 0 and shape[dim] > 1:
            raise ValueError(
                f"strides[{dim}] is {stride} bytes, which is no multiple of the item "
                f"size {itemsize}; copy the array first")
    return 0


# The cold functions above as the hot ones call them: through a pointer, which keeps their code out
# of the way, and returning -1 with an exception set.
cdef int (*_cold_check_odd_strides)(PyObject* array) noexcept
cdef int (*_cold_raise_byte_order)(PyObject* array) noexcept
cdef int (*_cold_find_extension_type)(PyObject* array, _KnownType* out) noexcept
_cold_check_odd_strides = <int (*)(PyObject*) noexcept>_check_odd_strides
_cold_raise_byte_order = <int (*)(PyObject*) noexcept>_raise_byte_order
_cold_find_extension_type = <int (*)(PyObject*, _KnownType*) noexcept>_find_extension_type


cdef inline int _fill_extents(PyObject* value, ArgumentView* arg_view, int log2_itemsize) noexcept:
    """Copy shape and strides, in elements: the array's own go when it gets another shape."""
    cdef PyArrayObject* array = <PyArrayObject*>value
    cdef int ndim = PyArray_NDIM(array)
    cdef const npy_intp* shape = PyArray_DIMS(array)
    cdef const npy_intp* strides = PyArray_STRIDES(array)
    cdef npy_intp within_item = (<npy_intp>1 << log2_itemsize) - 1
    cdef int64_t* extents = extents_of(arg_view, ndim)
    cdef npy_intp all_strides = 0
    cdef int dim
    if extents == NULL:
        return -1
    for dim in range(ndim):
        all_strides |= strides[dim]
        extents[dim] = shape[dim]
        extents[ndim + dim] = strides[dim] >> log2_itemsize  # arithmetic: keeps the sign
    arg_view.tensor.ndim = ndim
    arg_view.tensor.shape = extents
    arg_view.tensor.strides = extents + ndim
    return 0 if (all_strides & within_item) == 0 else _cold_check_odd_strides(value)


cdef inline int _fill(PyObject* value, ArgumentView* arg_view) noexcept:
    cdef PyArrayObject* array = <PyArrayObject*>value
    cdef const PyArray_Descr* descr = PyArray_DESCR(array)
    cdef int number = descr.type_num
    cdef _KnownType extension_type
    cdef const _KnownType* known = &extension_type
    if not PyArray_ISNBO(descr.byteorder):
        return _cold_raise_byte_order(value)
    if 0 <= number < NUM_KNOWN_TYPES and _known_types[number].dtype.bits != 0:
        known = &_known_types[number]
    elif _cold_find_extension_type(value, &extension_type) != 0:
        return -1
    arg_view.tensor.data = PyArray_DATA(array)
    arg_view.tensor.device.device_type = abi.kDLCPU
    arg_view.tensor.device.device_id = 0
    arg_view.tensor.dtype = known.dtype
    arg_view.tensor.byte_offset = 0
    arg_view.is_read_only = (PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE) == 0
    return _fill_extents(value, arg_view, known.log2_itemsize)


cdef int _pack_array(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) noexcept:
    cdef ArgumentView* arg_view = take_view(_free_views, abi.kTVMFFITensor, value)
    if arg_view == NULL:
        return -1
    if _fill(value, arg_view) != 0:
        return_view(_free_views, arg_view)
        return -1
    if arg_view.is_read_only:
        state.restriction = ArgumentRestriction.READ_ONLY_ARRAY
    return pack_temporary(state, out, abi.kTVMFFITensor, arg_view)


cdef bint _array_rule(type cls, object value, Packer* packer) except -1:
    """Arrays and their subclasses, except those that export themselves in their own way."""
    for base in cls.__mro__:
        if base.__name__ == "MaskedArray" and base.__module__ in _MASKED_ARRAY_MODULES:
            raise TypeError(
                "a tensor cannot say which elements of a masked array are masked: pass "
                "array.filled(value), or array.data and numpy.ma.getmaskarray(array) as two "
                "arguments")
        # Names first: a program without arrays does not have NumPy.
        if base.__module__ == "numpy" and base.__name__ == "ndarray" and "numpy" in _modules:
            bind_numpy()
            if PyArray_Check(value):
                packer.pack = _pack_array
                return True
        if "__dlpack__" in vars(base):
            return False
    return False


_fill_dtypes()
add_rule(Precedence.NUMPY_ARRAY, _array_rule)
