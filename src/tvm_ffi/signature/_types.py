# SPDX-License-Identifier: Apache-2.0
"""Parameter and result types: tensors, C numbers, and values with a schema."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Union

from .._internal.suggestion import did_you_mean
from .._schema.dtypes import COMMON_DTYPES, is_dtype_name, is_scalar_dtype
from .._schema.schema import Schema
from ._expression import Expression, Extent, fits_64_bits
from ._literals import builtin_value
from ._partial_repr import partial_repr

__all__ = [
    "ANY_EXTENT",
    "ELLIPSIS",
    "ScalarType",
    "TensorType",
    "Type",
    "ValueType",
    "checked_alignment",
    "is_ellipsis",
    "is_writable",
    "unknown_dtype",
    "unknown_type",
]

ELLIPSIS = "..."  # in a shape: any number of dimensions
ANY_EXTENT = "_"  # in a shape: one dimension of any extent
_LARGEST_ALIGNMENT = 4096  # in bytes: a memory page; no hardware needs more
_NAME = re.compile(r"[^\W\d]\w*")
_LAYOUT = re.compile(r"strided|compact(?: from (-?[1-9]\d{0,8}))?")
_DEVICE = re.compile(r"[a-z]\w*(?::[0-9]{1,9})?")


@dataclass(frozen=True)
class TensorType:
    """The type of a tensor parameter or result.

    Parameters
    ----------
    dtype : str, tuple of str, or None
        A dtype, a set of dtypes, or a dtype variable of the signature; None for any.
    shape : tuple, length ndim, or None
        Extents: numbers, names, expressions over names, ``"_"`` for any size, and at most one
        ellipsis for any number of extents: ``"..."``, or ``"*name"`` if the extents are equal in
        all places with this name.  None for any shape; ``("...",)`` is converted to None.
    layout : str, optional
        ``"compact"``: row-major without gaps.  ``"compact from K"``: the same for the dimensions
        from K on, where a negative K counts from the last dimension; the strides of earlier
        dimensions are free.  ``"strided"``: any strides.  None means unspecified; for a tensor that
        is passed by address it means compact.
    device : str, optional
        ``"cpu"``, ``"cuda"``, ``"cuda:1"``; None for any.
    is_pointer : bool
        Whether the callee takes only the address of the first element.
    is_optional : bool
        Whether the argument may be None.
    alignment : int, optional
        Required alignment of the first element in bytes, a power of two from 2 to 4096; tensors
        without elements are exempt.  None for the alignment of the dtype.
    """

    dtype: str | tuple[str, ...] | None = None
    shape: tuple[Extent, ...] | None = None
    layout: str | None = None
    device: str | None = None
    is_pointer: bool = False
    is_optional: bool = False
    alignment: int | None = None

    def __post_init__(self) -> None:
        self._check_dtype()
        if self.alignment is not None:
            checked_alignment(self.alignment)
        if self.layout is not None and not isinstance(self.layout, str):
            raise TypeError(f"layout must be a str, got {type(self.layout).__name__}")
        if self.layout is not None and _LAYOUT.fullmatch(self.layout) is None:
            raise ValueError(
                "layout must be 'compact', 'compact from K' where the dimension K is not 0, or "
                f"'strided', got {self.layout!r}"
            )
        if self.device is not None and not isinstance(self.device, str):
            raise TypeError(f"device must be a str, got {type(self.device).__name__}")
        if self.device is not None and _DEVICE.fullmatch(self.device) is None:
            raise ValueError(f"device must be like 'cuda' or 'cuda:1', got {self.device!r}")
        kind, colon, number = (self.device or "").partition(":")
        if colon:  # "cpu:00" is the same device as "cpu:0"
            object.__setattr__(self, "device", f"{kind}:{int(number)}")
        if isinstance(self.shape, str):
            raise TypeError(f"a shape must be a tuple of extents, got the str {self.shape!r}")
        if self.shape is not None:
            shape = tuple(map(_checked_extent, self.shape))
            count = sum(map(is_ellipsis, shape))
            if count > 1:
                raise ValueError(f"a shape has at most one '...' or '*name', got {count}")
            object.__setattr__(self, "shape", None if shape == (ELLIPSIS,) else shape)
        first, ndim = self.compact_from, self.ndim
        if first and ndim is not None and not -ndim <= first < ndim:
            raise ValueError(
                f"'{self.layout}' needs a dimension of the tensor, which has {ndim} "
                f"dimension{'' if ndim == 1 else 's'}"
            )

    def _check_dtype(self) -> None:
        if isinstance(self.dtype, str):
            object.__setattr__(self, "dtype", builtin_value(self.dtype))
            if not (is_dtype_name(self.dtype) or _NAME.fullmatch(self.dtype)):
                raise ValueError(
                    f"{self.dtype!r} is neither a dtype nor the name of a dtype variable"
                )
        elif self.dtype is not None:
            if not isinstance(self.dtype, (tuple, list)):
                raise TypeError(
                    f"dtype must be a str, a tuple of them or None, got {type(self.dtype).__name__}"
                )
            object.__setattr__(self, "dtype", tuple(map(builtin_value, self.dtype)))
            if not self.dtype:
                raise ValueError("a set of dtypes must not be empty")
            for name in self.dtype:
                if not isinstance(name, str) or not is_dtype_name(name):
                    raise ValueError(unknown_dtype(str(name)))

    @property
    def variable(self) -> str | None:
        """The name of the dtype variable; None if the dtype is not a variable."""
        if isinstance(self.dtype, str) and not is_dtype_name(self.dtype):
            return self.dtype
        return None

    @property
    def compact_from(self) -> int | None:
        """First dimension of those that must be row-major without gaps; None if none must be.

        0 if all dimensions must be.  A negative number counts from the last dimension.
        """
        if self.layout is None:
            return 0 if self.is_pointer else None
        found = _LAYOUT.fullmatch(self.layout)
        if self.layout == "strided" or found is None:
            return None
        return int(found[1] or 0)

    @property
    def has_free_strides(self) -> bool:
        """True if the layout of the type declares that some strides are free."""
        return self.layout not in (None, "compact")

    @property
    def ndim(self) -> int | None:
        """Number of dimensions; None if the type allows any number of dimensions."""
        return None if self.shape is None or self.gap is not None else len(self.shape)

    @property
    def gap(self) -> int | None:
        """Index of the ellipsis in the shape; None if there is none."""
        for index, extent in enumerate(self.shape or ()):
            if is_ellipsis(extent):
                return index
        return None

    @property
    def ellipsis(self) -> str | None:
        """The ellipsis with a name in the shape, such as ``"*s"``; None if there is none."""
        for extent in self.shape or ():
            if extent != ELLIPSIS and is_ellipsis(extent):
                return str(extent)
        return None


@partial_repr
@dataclass(frozen=True)
class ScalarType:
    """A C number type.

    Parameters
    ----------
    dtype : str
        ``int8`` to ``int64``, ``uint8`` to ``uint64``, ``float32`` or ``float64``.
    is_optional : bool
        Whether the argument may be None.
    """

    dtype: str
    is_optional: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.dtype, str):
            raise TypeError(f"dtype must be a str, got {type(self.dtype).__name__}")
        object.__setattr__(self, "dtype", builtin_value(self.dtype))
        if not is_scalar_dtype(self.dtype):
            raise ValueError(f"{self.dtype!r} is not a C number type")


@partial_repr
@dataclass(frozen=True, eq=False)
class ValueType:
    """A type other than a tensor or a C number: ``int``, ``Array[int]``, ``str | None``.

    Parameters
    ----------
    schema : Schema
        The type; a `tvm_ffi.core.TypeSchema` is accepted.
    """

    schema: Schema

    def __post_init__(self) -> None:
        if not isinstance(self.schema, Schema):
            raise TypeError(f"schema must be a TypeSchema, got {type(self.schema).__name__}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ValueType):
            return NotImplemented
        return same_schema(self.schema, other.schema)

    def __hash__(self) -> int:
        return hash(self.schema.origin)


Type = Union[TensorType, ScalarType, ValueType]


def is_ellipsis(extent: Extent) -> bool:
    """Return True if an extent stands for any number of dimensions."""
    return isinstance(extent, str) and (extent == ELLIPSIS or extent.startswith("*"))


def checked_alignment(size: int) -> int:
    """Return an alignment in bytes; raise an error if the alignment is invalid.

    Raises
    ------
    TypeError
        If `size` is not an int.
    ValueError
        If `size` is not a power of two in the allowed range.
    """
    if isinstance(size, bool) or not isinstance(size, int):
        raise TypeError(f"an alignment must be an int, got {type(size).__name__}")
    if not 2 <= size <= _LARGEST_ALIGNMENT or size & (size - 1):
        raise ValueError(
            f"an alignment must be a power of two from 2 to {_LARGEST_ALIGNMENT}, got {size}"
        )
    return size


def unknown_dtype(name: str, remark: str = "") -> str:
    """Return the error message for a name that is not a dtype; suggest the nearest dtype."""
    return f"'{name}' is not a dtype{remark}{did_you_mean(name, (*COMMON_DTYPES, *_GENERIC))}"


# Names of types that suggestions contain: of types with type arguments, and of other types.
_GENERIC = (
    *("Array", "Callable", "Dict", "List", "Map", "Optional", "Tensor", "Union"),
    *("dict", "list", "tuple"),
)
_PLAIN = (
    *("Any", "Device", "None", "Object", "Shape"),
    *("bool", "bytes", "dtype", "float", "int", "str"),
)
_NAME_OF_C_TYPE = {"char": "int8", "double": "float64", "long": "int64", "short": "int16"}


def unknown_type(name: str) -> str:
    """Return the error message for a name that is not a type; suggest the nearest type."""
    if is_dtype_name(name):
        plain = "float" if "float" in name else "int"
        return f"'{name}' cannot be part of a type; write '{plain}', or the number type alone"
    known = (*_GENERIC, *_PLAIN, *COMMON_DTYPES)
    hint = did_you_mean(_NAME_OF_C_TYPE.get(name, name), known) or _did_you_mean_short(name, known)
    remedy = hint or "; load the library that registers the type first"
    return f"'{name}' is neither a type nor the type key of a registered type{remedy}"


def _did_you_mean_short(name: str, known: Iterable[str]) -> str:
    """Return a suggestion that differs from a short name, such as ``imt``, in one character."""
    for other in known:
        different = sum(mine != theirs for mine, theirs in zip(name.lower(), other.lower()))
        if len(other) == len(name) and different == 1:
            return f"; did you mean {other!r}?"
    return ""


_IMMUTABLE = {"None", "bool", "bytes", "dtype", "Device", "float", "int", "str", "ffi.Shape"}


def is_writable(type_: Type) -> bool:
    """Return True if functions can write into values of a type: tensor, container or Any."""
    if isinstance(type_, ValueType):
        parts = type_.schema.args if type_.schema.origin in ("Optional", "Union") else None
        return any(part.origin not in _IMMUTABLE for part in parts or (type_.schema,))
    return isinstance(type_, TensorType)


def same_schema(left: Schema, right: Schema) -> bool:
    """Return True if two schemas are equal, apart from their registered type indices."""
    left_groups, right_groups = left.named_args or {}, right.named_args or {}
    return (
        left.origin == right.origin
        and _same_schemas(left.args or (), right.args or ())
        and left_groups.keys() == right_groups.keys()
        and all(_same_schemas(left_groups[name], right_groups[name]) for name in left_groups)
    )


def _same_schemas(left: tuple[Schema, ...], right: tuple[Schema, ...]) -> bool:
    return len(left) == len(right) and all(map(same_schema, left, right))


def _checked_extent(extent: Extent) -> Extent:
    extent = builtin_value(extent)
    if isinstance(extent, bool) or not isinstance(extent, (int, str, Expression)):
        raise TypeError(f"an extent must be an int, a name or an Expression, got {extent!r}")
    if isinstance(extent, int) and extent < 0:
        raise ValueError(f"an extent must be >= 0, got {extent}")
    if isinstance(extent, int) and not fits_64_bits(extent):
        raise ValueError(f"extent {extent} does not fit 64 bits")
    if isinstance(extent, str) and extent != ELLIPSIS:
        name = extent.removeprefix("*")
        if _NAME.fullmatch(name) is None:
            raise ValueError(f"an extent given as a str must be a name, got {extent!r}")
        if extent == f"*{ANY_EXTENT}":
            raise ValueError("an ellipsis without a name is written '...', got '*_'")
    return extent
