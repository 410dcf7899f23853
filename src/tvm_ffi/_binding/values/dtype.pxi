# SPDX-License-Identifier: Apache-2.0
"""Dtypes as arguments and results: type code, bits and lanes.

The public class `tvm_ffi.dtype` is a subclass of str whose instances refer to a `DataType`.
"""

cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int16_t, uint32_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    CallState, PackFunction, Packer, Precedence, add_rule, add_unpacker,
)
from tvm_ffi._binding.object cimport check

# Class of the dtypes that native functions return, `tvm_ffi.dtype`, and the cache of its instances
# by the packed (code, bits, lanes).
cdef object _dtype_class = None
cdef dict _dtype_by_triple = {}
# The cache is cleared at this size, because 2^32 dtypes are possible; programs use only a few.
cdef int _MAX_CACHED_DTYPES = 1024
# The dtype classes that `set_dtype_class` has replaced.  They are kept alive, because another
# thread may be about to use one of them.
cdef list _earlier_dtype_classes = []


@cython.binding(False)
cdef class DataType:
    """Element type of a tensor: type code, bits per lane, and number of lanes.

    Parameters
    ----------
    dtype_str : str
        Name of the dtype, such as ``"float32"`` or ``"int8x4"``.

    Raises
    ------
    ValueError
        If the text is not the name of a dtype.
    """

    def __init__(self, str dtype_str not None):
        if _triple(self.cdtype) != 0:
            # Other code may share the instance, because `dtype_of` caches one instance per dtype.
            raise TypeError("a DataType is immutable; create another DataType")
        cdef bytes text = dtype_str.encode("utf-8", "surrogatepass")
        cdef abi.TVMFFIByteArray view
        view.data, view.size = text, len(text)
        check(abi.TVMFFIDataTypeFromString(&view, &self.cdtype))

    @property
    def type_code(self) -> int:
        """DLPack type code, such as 0 for int, 1 for uint, 2 for float."""
        return self.cdtype.code

    @property
    def bits(self) -> int:
        """Number of bits of one lane."""
        return self.cdtype.bits

    @property
    def lanes(self) -> int:
        """Number of lanes; negative for scalable vectors."""
        return <int16_t>self.cdtype.lanes

    @property
    def itemsize(self) -> int:
        """Size of one element in bytes, rounded up to whole bytes."""
        if self.lanes < 0:
            raise ValueError("Cannot determine itemsize for scalable vector types")
        return (self.bits * self.lanes + 7) // 8

    def __str__(self):
        cdef abi.TVMFFIAny text
        if self.cdtype.code == abi.kDLComplex:
            # Format complex dtypes here, because TVMFFIDataTypeToString does not support them.
            return f"complex{self.bits}" + (f"x{self.lanes}" if self.lanes > 1 else "")
        check(abi.TVMFFIDataTypeToString(&self.cdtype, &text))
        try:
            return text_of(&text)
        finally:
            if text.type_index >= abi.kTVMFFIStaticObjectBegin:
                abi.TVMFFIObjectDecRef(text.v_obj)

    def __repr__(self):
        return f"DataType('{self}')"

    def __eq__(self, other):
        if not isinstance(other, DataType):
            return NotImplemented
        return _triple(self.cdtype) == _triple((<DataType>other).cdtype)

    def __hash__(self):
        return hash(_triple(self.cdtype))

    def __reduce__(self):
        return create_dtype, (DataType, self.type_code, self.bits, self.lanes)


cdef inline uint32_t _triple(abi.DLDataType cdtype) noexcept:
    """Return (code, bits, lanes) packed into 32 bits."""
    return cdtype.code | (<uint32_t>cdtype.bits << 8) | (<uint32_t>cdtype.lanes << 16)


def create_dtype(cls, int code, int bits, int lanes) -> DataType:
    """Return an instance of `cls` (DataType or a subclass) from its type code, bits and lanes.

    Raises
    ------
    OverflowError
        If the code, bits or lanes do not fit in a `DLDataType`.
    """
    cdef DataType dtype = <DataType?>cls.__new__(cls)
    if not (0 <= code < 256 and 0 <= bits < 256 and -32768 <= lanes < 32768):
        raise OverflowError(
            "dtype: expected a code and bits of 0 to 255 and lanes of -32768 to 32767, got "
            f"code={code}, bits={bits}, lanes={lanes}")
    dtype.cdtype.code = code
    dtype.cdtype.bits = bits
    dtype.cdtype.lanes = <unsigned short>lanes
    return dtype


def set_dtype_class(cls):
    """Let native functions return dtypes that ``cls.from_data_type(data_type)`` creates."""
    global _dtype_class
    _earlier_dtype_classes.append(_dtype_class)
    _dtype_class = cls
    _dtype_by_triple.clear()


cdef DataType data_type_of(abi.DLDataType cdtype):
    cdef DataType value = DataType.__new__(DataType)
    value.cdtype = cdtype
    return value


cdef object dtype_of(abi.DLDataType cdtype):
    cdef uint32_t triple = _triple(cdtype)
    cdef object dtype = _dtype_by_triple.get(triple)
    cdef DataType value
    if dtype is None:
        value = data_type_of(cdtype)
        dtype = value if _dtype_class is None else _dtype_class.from_data_type(value)
        if len(_dtype_by_triple) >= _MAX_CACHED_DTYPES:
            _dtype_by_triple.clear()
        _dtype_by_triple[triple] = dtype
    return dtype


# ---- Python to native ----------------------------------------------------------------------

cdef int _set_dtype(abi.TVMFFIAny* out, abi.DLDataType cdtype) noexcept:
    out.type_index = abi.kTVMFFIDataType
    out.zero_padding = 0
    out.v_uint64 = 0
    out.v_dtype = cdtype
    return 0


cdef int _pack_data_type(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    return _set_dtype(out, (<DataType>value).cdtype)


cdef int _pack_dtype(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    cdef DataType dtype = <DataType?>(<object>value)._tvm_ffi_dtype
    return _set_dtype(out, dtype.cdtype)


cdef int _pack_foreign_dtype(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    """Pack a dtype of torch or NumPy; `tvm_ffi.dtype` converts the dtype by its name."""
    cdef DataType dtype = <DataType?>_dtype_class(<object>value)._tvm_ffi_dtype
    return _set_dtype(out, dtype.cdtype)


cdef int _pack_dtype_protocol(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    """Pack the dtype that `__dlpack_data_type__` of an object returns."""
    code, bits, lanes = (<object>value).__dlpack_data_type__()
    cdef DataType dtype = create_dtype(DataType, code, bits, lanes)
    return _set_dtype(out, dtype.cdtype)


cdef bint _is_foreign_dtype(type cls) except -1:
    """Return True if `cls` is a dtype class of torch or NumPy."""
    if cls.__module__ == "torch" and cls.__name__ == "dtype":
        return True
    # NumPy has one subclass of numpy.dtype per scalar type.
    return any(base.__module__ == "numpy" and base.__name__ == "dtype" for base in cls.__mro__)


cdef bint _own_dtype_rule(type cls, object value, Packer* packer) except -1:
    if issubclass(cls, DataType):
        packer.pack = <PackFunction>_pack_data_type
    elif _dtype_class is not None and issubclass(cls, _dtype_class):
        packer.pack = <PackFunction>_pack_dtype
    else:
        return False
    return True


cdef bint _foreign_dtype_rule(type cls, object value, Packer* packer) except -1:
    if _is_foreign_dtype(cls):
        packer.pack = <PackFunction>_pack_foreign_dtype
    elif hasattr(cls, "__dlpack_data_type__"):
        packer.pack = <PackFunction>_pack_dtype_protocol
    else:
        return False
    return True


cdef object _unpack_dtype(abi.TVMFFIAny* owned, CallState* state):
    return dtype_of(owned.v_dtype)


add_rule(Precedence.DTYPE, _own_dtype_rule)
add_rule(Precedence.THIRD_PARTY_DTYPE, _foreign_dtype_rule)
add_unpacker(abi.kTVMFFIDataType, _unpack_dtype)
