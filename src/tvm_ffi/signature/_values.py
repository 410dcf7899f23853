# SPDX-License-Identifier: Apache-2.0
"""Conversion of Python arguments to native values for signature checks, and their descriptions."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from typing import Any

from .._binding.call import add_error_context
from .._binding.call import check_memory as _check_memory
from .._binding.object import ObjectRValueRef, type_key_to_index
from .._binding.values import CAny, to_py_class_value
from .._schema.json_form import schema_to_json
from .._schema.names import ORIGIN_OF_KEY
from .._schema.schema import Schema
from .._types.schema import TypeSchema
from .._types.type_index import key_of_index
from ._checks import BIG_INT, Failure

__all__ = [
    "add_error_context",
    "alignment_of",
    "check_memory",
    "check_value",
    "dtype_of",
    "dtype_text",
    "is_compact",
    "is_one_of",
    "is_type_key",
    "native_value",
    "size_bytes",
    "strides_text",
    "type_name_of_index",
]

_TYPE_NAME_OF_KEY = {
    **ORIGIN_OF_KEY,
    "ffi.BigInt": BIG_INT,
    "ffi.OpaquePyObject": "Python object",
}
_MAX_SHOWN = 8  # largest number of strides that a message shows
_COMPLEX = 5  # dtype code of complex numbers


def is_type_key(name: str) -> bool:
    """Return True if a type with this type key is registered."""
    return type_key_to_index(name) is not None


def type_name_of_index(type_index: int) -> str | None:
    """Return the name of a native type for messages; None for an unknown type index."""
    key = key_of_index(type_index)
    return None if key is None else _TYPE_NAME_OF_KEY.get(key, key)


def native_value(value: Any, accepted: Sequence[str]) -> tuple[str, Any]:
    """Return the name of an argument's native type, and the native value as a Python value.

    Parameters
    ----------
    value : object
        An argument.
    accepted : sequence of str
        Names of the accepted types.  If the first is ``float``, an int is converted as in a call;
        if it is ``str``, a path.
    """
    if accepted[0] == "float" and type(value) is int:
        value = float(value)
    elif accepted[0] == "str" and hasattr(type(value), "__fspath__"):
        value = os.fspath(value)
    native = CAny(value.obj if isinstance(value, ObjectRValueRef) else value)
    type_name = type_name_of_index(native.type_index)
    assert type_name is not None
    return type_name, to_py_class_value(native)


def check_value(value: Any, schema: Schema, failure: Failure) -> None:
    """Raise TypeError, with the declared type in the message, unless a value converts to it."""
    # Convert to a TypeSchema, because a plain Schema cannot look up registered types.
    known = TypeSchema.from_json_obj(schema_to_json(schema))
    try:
        known.check_value(value)
    except TypeError as error:
        where = failure.template.partition("expected ")[0].format()
        raise TypeError(where + (str(error).partition(": ")[2] or str(error))) from None


def check_memory(value: Any, direction: str) -> None:
    """Raise BufferError if an argument is read-only and the direction allows writing."""
    _check_memory(value.obj if isinstance(value, ObjectRValueRef) else value, direction)


# ---- properties of tensors -----------------------------------------------------------------------


def dtype_of(tensor: Any) -> Any:
    """Return the dtype of a tensor; None for a dtype without a name."""
    try:
        return tensor.dtype
    except ValueError:
        return None


def is_one_of(dtype: Any, names: Iterable[str]) -> bool:
    """Return True if a dtype is one of the dtypes with the given names."""
    return any(type(dtype)(name) == dtype for name in names if dtype is not None)


def dtype_text(dtype: Any) -> str:
    """Return the name of a dtype for messages."""
    return "an unnamed dtype" if dtype is None else str(dtype)


def strides_text(strides: tuple[int, ...]) -> str:
    """Return strides as the text of a tuple, with ``...`` after the first strides."""
    if len(strides) <= _MAX_SHOWN:
        return str(strides)
    return f"({', '.join(map(str, strides[:_MAX_SHOWN]))}, ...)"


def alignment_of(dtype: Any) -> int:
    """Return the alignment in bytes that C gives elements of a dtype; 1 if C has no such type."""
    if dtype is None:
        return 1
    bits = dtype.bits // 2 if dtype.type_code == _COMPLEX else dtype.bits
    size = bits // 8
    return size if size * 8 == bits and size & (size - 1) == 0 and size > 0 else 1


def size_bytes(tensor: Any) -> int:
    """Return the size in bytes of the elements of a compact tensor."""
    dtype = dtype_of(tensor)
    bits = 0 if dtype is None else dtype.bits * dtype.lanes
    return int(math.prod(tensor.shape) * bits + 7) // 8


def is_compact(shape: Sequence[int], strides: Sequence[int], first: int = 0) -> bool:
    """Return True if the dimensions of a tensor from `first` on are row-major without gaps.

    A negative `first` counts from the last dimension.  Strides of dimensions with extent 1 and of
    tensors without elements are ignored.
    """
    step = 1
    for extent, stride in reversed(list(zip(shape, strides))[first:]):
        if extent != 1 and stride != step:
            return 0 in shape
        step *= extent
    return True
