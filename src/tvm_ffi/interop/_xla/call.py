# SPDX-License-Identifier: Apache-2.0
"""A call as XLA's custom call of ours has it: buffers, and attributes that say the rest.

The other half is ``runtime/xla/call_tvm_ffi.c``, which reads what is written here.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._dtype import dtype
from ...serialization import to_json_graph_str

__all__ = ["ATTRIBUTE", "JSON_GRAPH", "NONE", "OPERAND", "OUTPUT", "Buffer", "attributes_of"]

# Where an argument comes from.
OPERAND, OUTPUT, ATTRIBUTE, NONE, JSON_GRAPH = range(5)
_RESERVED = "__"  # how names of attributes begin that are ours
_FUNCTION, _ARGUMENTS = "__function", "__arguments"
_INT64 = (-(2**63), 2**63 - 1)


class Buffer(NamedTuple):
    """An argument that is a buffer: ``OPERAND`` or ``OUTPUT``, and which one."""

    source: int
    place: int


def attributes_of(function: str, arguments: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the attributes of a call.

    Parameters
    ----------
    function : str
        Global name.
    arguments : sequence of (str, object)
        In the order in which the function takes them, each with the name of its attribute: a
        `Buffer`, or a value.

    Raises
    ------
    TypeError, ValueError
        If a value cannot travel in a program; the message names the argument.
    """
    attributes: dict[str, Any] = {}
    sources: list[tuple[int, str | int]] = []
    for name, value in arguments:
        if isinstance(value, Buffer):
            sources.append(value)
            continue
        if name.startswith(_RESERVED) or name in attributes:
            raise ValueError(f"an attribute cannot be called {name!r}")
        source, attribute = _attribute_of(name, value)
        sources.append((source, name))
        if source != NONE:
            attributes[name] = attribute
    order = sorted([_FUNCTION, _ARGUMENTS, *attributes])  # as XLA sorts them
    places = {name: place for place, name in enumerate(order)}
    codes = [
        16 * (where if isinstance(where, int) else places.get(where, 0)) + source
        for source, where in sources
    ]
    numbers = np.array([len(order), _number_of(function, attributes), *codes], np.int32)
    return {_FUNCTION: function, _ARGUMENTS: numbers, **attributes}


def _attribute_of(name: str, value: Any) -> tuple[int, Any]:
    """Return how a value travels, and as what."""
    if value is None:
        return NONE, None
    if isinstance(value, (bool, np.bool_)):
        return ATTRIBUTE, bool(value)
    if isinstance(value, (int, np.integer)):
        if not _INT64[0] <= value <= _INT64[1]:
            raise ValueError(f"argument '{name}': {value} does not fit 64 bits")
        return ATTRIBUTE, np.int64(value)
    if isinstance(value, (float, np.floating)):
        return ATTRIBUTE, np.float64(value)
    if isinstance(value, str) and not isinstance(value, dtype):
        return ATTRIBUTE, _text_of(name, value)
    if isinstance(value, np.ndarray):
        if value.ndim != 1 or value.dtype.kind not in "iuf" or value.dtype == np.float16:
            raise TypeError(
                f"argument '{name}': arrays of constants have one dimension and elements that are "
                f"numbers, got {value.dtype}{list(value.shape)}; pass it as an array of JAX"
            )
        return ATTRIBUTE, value
    try:
        return JSON_GRAPH, to_json_graph_str(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(
            f"argument '{name}': a {type(value).__name__} cannot travel in a program: {error}"
        ) from error


def _text_of(name: str, value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"argument '{name}': the text has no UTF-8: {error}") from None
    return str(value)


def _number_of(function: str, attributes: dict[str, Any]) -> int:
    """Return a number that differs where functions or attributes do.

    The handler looks the function up by it.  And programs are kept by what they are made of,
    compared as Python compares values: there 1, 1.0 and True are the same, and so are 0.0 and -0.0.
    """
    text = [
        f"{name}:{value.dtype}:{value.tobytes()!r}"
        if isinstance(value, (np.generic, np.ndarray))
        else f"{name}:{type(value).__name__}"
        for name, value in attributes.items()
    ]
    return zlib.crc32("\n".join([function, *text]).encode()) >> 1  # 31 bits
