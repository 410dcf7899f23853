# SPDX-License-Identifier: Apache-2.0
"""Where fields of Python-defined types lie in the memory of their objects.

    offset 0    header of every object, 24 bytes
           24   fields of the ancestors, the root's first
           ..   own fields in order, each aligned

The whole is rounded up to 8 bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .._schema.schema import Schema
    from .._types.type_info import TypeInfo

HEADER_SIZE = 24
_ANY, _INT, _BOOL, _FLOAT, _POINTER, _DTYPE, _DEVICE, _OBJECT = -1, 1, 2, 3, 4, 5, 6, 64


class Layout(NamedTuple):
    """How a field is kept."""

    size: int
    """Bytes."""
    alignment: int
    """Bytes."""
    static_type_index: int
    """Type index that stands for the kind of memory."""


_VALUE = Layout(16, 8, _ANY)
_REFERENCE = Layout(8, 8, _OBJECT)
_LAYOUT_OF_ORIGIN = {
    "int": Layout(8, 8, _INT),
    "float": Layout(8, 8, _FLOAT),
    "bool": Layout(1, 1, _BOOL),
    "ctypes.c_void_p": Layout(8, 8, _POINTER),
    "dtype": Layout(4, 2, _DTYPE),
    "Device": Layout(8, 4, _DEVICE),
    **dict.fromkeys(("Any", "str", "bytes", "Optional", "Union"), _VALUE),
}

_PLAIN_ORIGINS = ("int", "float", "bool", "str", "bytes", "dtype", "Device", "ctypes.c_void_p")


def layout_of(schema: Schema) -> Layout:
    """Return how a field of a declared type is kept."""
    return _LAYOUT_OF_ORIGIN.get(schema.origin, _REFERENCE)


def is_plain(schema: Schema) -> bool:
    """Whether what a field of a declared type holds runs no code of others when it is released."""
    if schema.origin == "Optional":
        return is_plain((schema.args or ())[0])
    return schema.origin in _PLAIN_ORIGINS


def end_of_fields(info: TypeInfo) -> int:
    """Return where the fields of a type end, in bytes from the header: those of others may follow.

    Raises
    ------
    TypeError
        If the type has memory that only its own code knows, and can copy and release.
    """
    end = max((entry.offset + entry.size for entry in info.all_fields()), default=HEADER_SIZE)
    if info.total_size != aligned(end, 8):
        raise TypeError(
            f"no type can derive from `{info.type_key}` in Python: its objects hold more than "
            "the fields that it has registered"
        )
    return end


def place_fields(layouts: list[Layout], begin: int) -> tuple[list[int], int]:
    """Return the offset of each field, and the size of an object, in bytes."""
    offsets = []
    for layout in layouts:
        begin = aligned(begin, layout.alignment)
        offsets.append(begin)
        begin += layout.size
    return offsets, aligned(begin, 8)


def aligned(offset: int, alignment: int) -> int:
    """Return the next offset with this alignment."""
    return -(-offset // alignment) * alignment
