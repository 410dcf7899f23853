# SPDX-License-Identifier: Apache-2.0
"""Memory layout of Python-defined types: size, alignment and offset of each field.

    offset 0    header of every object, 24 bytes
           24   inherited fields, those of the root type first
           ..   fields of the type in order, each aligned

The size of an object is rounded up to a multiple of 8 bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .._schema.schema import Schema
    from .._types.type_info import TypeInfo

HEADER_SIZE = 24
_ANY, _INT, _BOOL, _FLOAT, _POINTER, _DTYPE, _DEVICE, _OBJECT = -1, 1, 2, 3, 4, 5, 6, 64


class Layout(NamedTuple):
    """Size and alignment of a field, and the native getter that reads it."""

    size: int
    """Size of the field in bytes."""
    alignment: int
    """Alignment of the field in bytes."""
    static_type_index: int
    """Type index that selects the getter, such as -1 for a tagged value and 64 for an object."""


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
    """Return the memory layout of a field with the given declared type."""
    return _LAYOUT_OF_ORIGIN.get(schema.origin, _REFERENCE)


def is_plain(schema: Schema) -> bool:
    """Return True if releasing a value of the declared type runs no third-party code."""
    if schema.origin == "Optional":
        return is_plain((schema.args or ())[0])
    return schema.origin in _PLAIN_ORIGINS


def end_of_fields(info: TypeInfo) -> int:
    """Return the offset of the first byte after the fields of a type, where derived fields begin.

    Raises TypeError if an object has bytes outside of the registered fields, because only C++ code
    can copy and release these bytes.
    """
    end = max((entry.offset + entry.size for entry in info.all_fields()), default=HEADER_SIZE)
    if info.total_size != aligned(end, 8):
        raise TypeError(
            f"`{info.type_key}` cannot be a base type: expected registered fields that cover the "
            f"{info.total_size} bytes of its objects, got fields up to byte {end}"
        )
    return end


def place_fields(layouts: list[Layout], begin: int) -> tuple[list[int], int]:
    """Return the offset of each field, and the size of the whole object, in bytes."""
    offsets = []
    for layout in layouts:
        begin = aligned(begin, layout.alignment)
        offsets.append(begin)
        begin += layout.size
    return offsets, aligned(begin, 8)


def aligned(offset: int, alignment: int) -> int:
    """Return the smallest multiple of `alignment` that is at least `offset`."""
    return -(-offset // alignment) * alignment
