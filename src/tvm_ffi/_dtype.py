# SPDX-License-Identifier: Apache-2.0
"""The class `dtype`: a str that names an element type and has its type code, bits and lanes."""

from __future__ import annotations

import builtins

from ._binding.values import DataType, create_dtype, set_dtype_class
from ._internal.lazy import TYPE_CHECKING, Any, late_attributes

if TYPE_CHECKING:
    from typing import ClassVar

    from ._internal.dlpack_codes import DataTypeCode as DataTypeCode  # noqa: PLC0414

__getattr__ = late_attributes(globals(), {"DataTypeCode": "._internal.dlpack_codes:DataTypeCode"})

# Copies of members of `DataTypeCode`, to avoid importing `enum`.  A test compares the copies with
# the enumeration.
_INT, _UINT, _FLOAT, _HANDLE, _BFLOAT, _BOOL, _FIRST_OF_FEW_BITS = 0, 1, 2, 3, 4, 6, 7

# The dtypes whose names in torch or NumPy differ from their names in this package.
_FOREIGN_NAMES = {
    "float4_e2m1fn_x2": "float4_e2m1fnx2",
    "half": "float16",
    "double": "float64",
    "bool_": "bool",
}


class _NumpyNames:
    """Descriptor that creates the dict from NumPy dtypes to dtype names on first access."""

    def __get__(self, obj: object, owner: type[dtype]) -> dict[Any, str]:
        import numpy

        names = {numpy.dtype(name): name for name in _NUMPY_NAMES}
        try:
            import ml_dtypes
        except ImportError:
            pass
        else:
            known = (name for name in _ML_DTYPES_NAMES if hasattr(ml_dtypes, name))
            names |= {numpy.dtype(getattr(ml_dtypes, name)): name for name in known}
        dtype._NUMPY_DTYPE_TO_STR = names
        return names


_NUMPY_NAMES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64"),
)
_ML_DTYPES_NAMES = (
    *("int2", "int4", "uint2", "uint4", "bfloat16"),
    *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"),
    *("float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
    *("float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"),
)


class dtype(str):  # noqa: N801  (the package contract requires this name)
    """Element type of a tensor: a string such as ``"float32"`` with its code, bits and lanes.

    Parameters
    ----------
    content : str, dtype, DataType, numpy.dtype or torch.dtype
        A name with bits and lanes, such as ``"float32"``, ``"int8x4"`` or ``"float8_e4m3fn"``,
        or an object that has such a name.  The dtype keeps the spelling of the name.

    Raises
    ------
    ValueError
        If the string is not the name of a dtype.
    """

    __slots__ = ("_tvm_ffi_dtype",)
    _tvm_ffi_dtype: DataType

    _NUMPY_DTYPE_TO_STR: ClassVar[Any] = _NumpyNames()

    def __new__(cls, content: Any) -> dtype:
        text = str(content)
        if not isinstance(content, (str, DataType)):
            text = _name_of_framework_dtype(text, content)
        self = str.__new__(cls, text)
        self._tvm_ffi_dtype = _parse(text)
        return self

    @classmethod
    def from_data_type(cls, data_type: DataType) -> dtype:
        """Return the dtype of a `DataType`, with its canonical name."""
        self = str.__new__(cls, str(data_type))
        self._tvm_ffi_dtype = data_type
        return self

    @staticmethod
    def from_dlpack_data_type(dltype_data_type: tuple[int, int, int]) -> dtype:
        """Return the dtype of a DLPack ``DLDataType`` triple.

        Parameters
        ----------
        dltype_data_type : tuple of int
            Type code, bits, lanes.

        Raises
        ------
        OverflowError
            If a number does not fit into its field of ``DLDataType``.
        ValueError
            If the type code is unknown.
        """
        code, bits, lanes = dltype_data_type
        return dtype.from_data_type(create_dtype(DataType, code, bits, lanes))

    @staticmethod
    def is_dtype(arg: Any) -> builtins.bool:
        """Return True if `arg` is a dtype or the name of a dtype."""
        try:
            dtype(arg)
        except (ValueError, TypeError):
            return False
        return True

    def with_lanes(self, lanes: int) -> dtype:
        """Return a dtype with `lanes` lanes and the type code and bits of this dtype."""
        return dtype.from_dlpack_data_type((self.type_code, self.bits, lanes))

    @property
    def type_code(self) -> int:
        """DLPack type code, a value of `DataTypeCode`."""
        return self._tvm_ffi_dtype.type_code

    @property
    def bits(self) -> int:
        """Number of bits per lane."""
        return self._tvm_ffi_dtype.bits

    @property
    def lanes(self) -> int:
        """Number of lanes; negative for scalable vectors."""
        return self._tvm_ffi_dtype.lanes

    @property
    def itemsize(self) -> int:
        """Size of one element in bytes, rounded up."""
        return self._tvm_ffi_dtype.itemsize

    @property
    def is_bool(self) -> builtins.bool:
        """True for the boolean type."""
        return self.type_code == _BOOL

    @property
    def is_integer(self) -> builtins.bool:
        """True for signed and unsigned integer types."""
        return self.type_code in (_INT, _UINT)

    @property
    def is_float(self) -> builtins.bool:
        """True for floating-point types of all formats."""
        return self.type_code in (_FLOAT, _BFLOAT) or self.type_code >= _FIRST_OF_FEW_BITS

    @property
    def is_handle(self) -> builtins.bool:
        """True for the type of opaque pointers."""
        return self.type_code == _HANDLE

    def __repr__(self) -> str:
        return f"dtype({str.__repr__(self)})"

    def __reduce__(self) -> Any:
        return type(self), (str(self),)


dtype.__module__ = "tvm_ffi"  # pickles contain the public module name
# `typing.get_type_hints` would look the name of the annotation up in the public module.
dtype.__annotations__ = {"_tvm_ffi_dtype": DataType}


def _name_of_framework_dtype(text: str, content: Any) -> str:
    """Return the dtype name that this package uses for a torch or NumPy dtype."""
    name: str
    module, _, name = text.rpartition(".")
    if module == "torch":
        return _FOREIGN_NAMES.get(name, name)
    if not hasattr(content, "byteorder"):
        return text
    if not content.isnative:
        raise ValueError(f"numpy dtype {content!r} is not in native byte order")
    name = content.name
    return _FOREIGN_NAMES.get(name, name)


def _parse(text: str) -> DataType:
    if text.startswith("complex") and text[7:].isdigit():
        # The runtime does not parse names of complex dtypes, but tensors may have complex elements.
        return create_dtype(DataType, 5, int(text[7:]), 1)
    try:
        return DataType(text)
    except ValueError as error:
        from ._internal.suggestion import did_you_mean

        text = _FOREIGN_NAMES.get(text, text)
        hint = did_you_mean(text, _KNOWN_NAMES) if str(error).startswith("unknown ") else ""
        if not hint:
            raise
        message = f"{error}{hint}"
    raise ValueError(message)


_KNOWN_NAMES = (
    *_NUMPY_NAMES,
    *_ML_DTYPES_NAMES,
    *("float4_e2m1fnx2", "complex64", "complex128", "handle"),
)
set_dtype_class(dtype)

bool = dtype("bool")  # noqa: A001
int8 = dtype("int8")
int16 = dtype("int16")
int32 = dtype("int32")
int64 = dtype("int64")
uint8 = dtype("uint8")
uint16 = dtype("uint16")
uint32 = dtype("uint32")
uint64 = dtype("uint64")
float16 = dtype("float16")
float32 = dtype("float32")
float64 = dtype("float64")
bfloat16 = dtype("bfloat16")
float8_e3m4 = dtype("float8_e3m4")
float8_e4m3 = dtype("float8_e4m3")
float8_e4m3b11fnuz = dtype("float8_e4m3b11fnuz")
float8_e4m3fn = dtype("float8_e4m3fn")
float8_e4m3fnuz = dtype("float8_e4m3fnuz")
float8_e5m2 = dtype("float8_e5m2")
float8_e5m2fnuz = dtype("float8_e5m2fnuz")
float8_e8m0fnu = dtype("float8_e8m0fnu")
float6_e2m3fn = dtype("float6_e2m3fn")
float6_e3m2fn = dtype("float6_e3m2fn")
float4_e2m1fn = dtype("float4_e2m1fn")
float4_e2m1fnx2 = dtype("float4_e2m1fnx2")
float4_e2m1fn_x2 = float4_e2m1fnx2
