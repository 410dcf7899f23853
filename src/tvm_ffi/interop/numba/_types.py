# SPDX-License-Identifier: Apache-2.0
"""Conversion of parameter and result types of a signature to Numba types."""

from __future__ import annotations

from typing import Any

from ..._schema.dtypes import integer_range
from ...signature import ScalarType, TensorType
from ...signature._checks import accepted_type_names
from ...signature._types import Type
from .._versions import load

__all__ = ["array_type", "numba", "number_type"]

numba: Any = load("numba", "0.62.0", "0.68.1", extra="numba")
types: Any = numba.types

_ELEMENTS = {
    "bool": types.boolean,
    "complex64": types.complex64,
    "complex128": types.complex128,
    "float32": types.float32,
    "float64": types.float64,
}
_NUMBERS = {"bool": types.boolean, "float": types.float64, "int": types.int64}


def number_type(type_: Type) -> Any | None:
    """Return the Numba type of a number type, or None if Numba kernels do not support it."""
    if isinstance(type_, ScalarType):
        return None if type_.is_optional else getattr(types, type_.dtype)
    names = accepted_type_names(type_)
    return None if names is None or "None" in names else _NUMBERS.get(names[0])


def array_type(type_: TensorType, dtype: str) -> Any | None:
    """Return the Numba type of a tensor type, or None if Numba kernels do not support it."""
    element = _ELEMENTS.get(dtype)
    if element is None and integer_range(dtype) is not None:
        element = getattr(types, dtype)
    if element is None or type_.ndim is None or type_.is_optional:
        return None
    layout = "A" if type_.has_free_strides else "C"
    return types.Array(element, type_.ndim, layout)
