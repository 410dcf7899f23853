# SPDX-License-Identifier: Apache-2.0
"""What the checks ask of Python values: is it a tensor, does a type take it, may it be written."""

from __future__ import annotations

from typing import Any

from .._binding.tensor.dlpack import from_dlpack
from .._binding.tensor.tensor import Tensor
from .._schema.dtypes import integer_range
from .._schema.json_form import schema_to_json
from .._schema.schema import Schema
from .._types.schema import TypeSchema

__all__ = ["is_read_only", "problem_of_scalar", "problem_of_value", "tensor_of"]


def tensor_of(value: Any) -> Tensor | None:
    """Return a value as a tensor; None for what is none."""
    if isinstance(value, Tensor):
        return value
    if not hasattr(type(value), "__dlpack__"):
        return None
    found: Tensor = from_dlpack(value)
    return found


def is_read_only(value: Any) -> bool:
    """Whether who has the memory says that nobody may write into it."""
    tensor = tensor_of(value)
    return tensor is not None and tensor.readonly


def problem_of_scalar(value: Any, dtype: str) -> str | None:
    """Return why a value is no number of a C type; None when it is one."""
    limits = integer_range(dtype)
    if limits is None:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return None if is_number else f"expected {dtype}, got {type(value).__name__}"
    if isinstance(value, bool) or not isinstance(value, int):
        return f"expected {dtype}, got {type(value).__name__}"
    if not limits[0] <= value <= limits[1]:
        return f"{value} does not fit {dtype}"
    return None


def problem_of_value(value: Any, schema: Schema) -> str | None:
    """Return why a declared type does not take a value; None when it does."""
    # The same type as one that knows what is registered.
    known = TypeSchema.from_json_obj(schema_to_json(schema))
    try:
        known.check_value(value)
    except TypeError as error:
        return str(error).partition(": ")[2] or str(error)
    return None
