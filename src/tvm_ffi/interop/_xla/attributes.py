# SPDX-License-Identifier: Apache-2.0
"""Attributes of the XLA custom call: the function's name, constants, and argument sources.

The handler ``runtime/xla/call_tvm_ffi.c`` reads these attributes.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._dtype import dtype
from ...serialization import to_json_graph_str

__all__ = ["ATTRIBUTE", "JSON_GRAPH", "NONE", "OPERAND", "OUTPUT", "Buffer", "attributes_of"]

# Sources of arguments.  runtime/xla/call_arguments.c has the same numbers.
OPERAND, OUTPUT, ATTRIBUTE, NONE, JSON_GRAPH = range(5)
_RESERVED = "__"  # prefix of the names of attributes that are not arguments
_FUNCTION, _ARGUMENTS = "__function", "__arguments"
_INT64 = (-(2**63), 2**63 - 1)


class Buffer(NamedTuple):
    """An array argument: the index of an operand or of an output of the custom call."""

    source: int
    position: int


def attributes_of(function: str, arguments: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the attributes of a custom call.

    Parameters
    ----------
    function : str
        Global name of the function.
    arguments : sequence of (str, object)
        Attribute names with a `Buffer` or a constant, in the order of the function's parameters.

    Raises
    ------
    TypeError, ValueError
        If a value cannot be a constant of an XLA program; the message names the argument.
    """
    attributes: dict[str, Any] = {}
    sources: list[tuple[int, str | int]] = []
    for name, value in arguments:
        if isinstance(value, Buffer):
            sources.append(value)
            continue
        if name.startswith(_RESERVED) or name in attributes:
            raise ValueError(f"argument name {name!r} is reserved, or names two arguments")
        source, attribute = _attribute_of(name, value)
        sources.append((source, name))
        if source != NONE:
            attributes[name] = attribute
    # An attribute's index is its position here, because XLA passes attributes sorted by name.
    order = sorted([_FUNCTION, _ARGUMENTS, *attributes])
    indices = {name: index for index, name in enumerate(order)}
    codes = [
        16 * (key if isinstance(key, int) else indices.get(key, 0)) + source
        for source, key in sources
    ]
    numbers = np.array([len(order), _checksum_of(function, attributes), *codes], np.int32)
    return {_FUNCTION: function, _ARGUMENTS: numbers, **attributes}


def _attribute_of(name: str, value: Any) -> tuple[int, Any]:
    """Return the source of an argument that is a constant, and the value of its attribute."""
    if value is None:
        return NONE, None
    if isinstance(value, (bool, np.bool_)):
        return ATTRIBUTE, bool(value)
    if isinstance(value, (int, np.integer)):
        if not _INT64[0] <= value <= _INT64[1]:
            raise ValueError(f"argument '{name}': the integer {value} does not fit 64 bits")
        return ATTRIBUTE, np.int64(value)
    if isinstance(value, (float, np.floating)):
        return ATTRIBUTE, np.float64(value)
    if isinstance(value, str) and not isinstance(value, dtype):
        return ATTRIBUTE, _checked_text(name, value)
    if isinstance(value, np.ndarray):
        if value.ndim != 1 or value.dtype.kind not in "iuf" or value.dtype == np.float16:
            raise TypeError(
                f"argument '{name}': expected a one-dimensional constant array of numbers, got "
                f"{value.dtype}{list(value.shape)}; pass it as a JAX array"
            )
        return ATTRIBUTE, value
    try:
        return JSON_GRAPH, to_json_graph_str(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(
            f"argument '{name}': a {type(value).__name__} cannot be a constant of a program: "
            f"{error}"
        ) from error


def _checked_text(name: str, value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"argument '{name}': the string cannot be encoded as UTF-8: {error}"
        ) from None
    return str(value)


def _checksum_of(function: str, attributes: dict[str, Any]) -> int:
    """Return a checksum of the function's name and of the types and bytes of the attributes.

    The handler uses the checksum as the key of its table of functions.  The checksum also
    distinguishes programs in JAX's caches, because these compare attributes as Python values: for
    Python, 1, 1.0 and True are equal, and so are 0.0 and -0.0.
    """
    text = [
        f"{name}:{value.dtype}:{value.tobytes()!r}"
        if isinstance(value, (np.generic, np.ndarray))
        else f"{name}:{type(value).__name__}"
        for name, value in attributes.items()
    ]
    # The shift leaves 31 bits, so the checksum is a non-negative int32.
    return zlib.crc32("\n".join([function, *text]).encode()) >> 1
