# SPDX-License-Identifier: Apache-2.0
"""C source text: literals, names, types and indented lines."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..signature import ScalarType
from ..signature._checks import accepted_type_names
from ..signature._types import Type

__all__ = ["Lines", "char_array", "element_type", "literal", "local_name", "number", "value_type"]

_NAME = re.compile(r"\w+", re.ASCII)
_LONGEST_LITERAL = 4000  # maximum characters per string literal; every C compiler accepts 4095
_C_TYPE_OF_NAME = {
    "bool": "bool",
    "bytes": "const void*",
    "ctypes.c_void_p": "void*",
    "float": "double",
    "int": "int64_t",
    "str": "const char*",
}
_ELEMENT = re.compile(r"u?int(?:8|16|32|64)")


class Lines:
    """C source text, written line by line."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0

    def add(self, *lines: str) -> None:
        """Write lines at the current indentation; skip empty ones."""
        self._lines += ["  " * self._depth + line for line in lines if line]

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Write ``head {``, the lines of the with-block, and ``}``."""
        self.add(f"{head} {{".lstrip())
        self._depth += 1
        yield
        self._depth -= 1
        self.add("}")

    def __str__(self) -> str:
        return "".join(f"{line}\n" for line in self._lines)


def literal(text: str | bytes) -> str:
    """Return a C string literal with octal escapes; hexadecimal escapes have no fixed length."""
    encoded = text.encode("utf-8") if isinstance(text, str) else text
    return '"' + "".join(map(_escaped, encoded)) + '"'


def _escaped(byte: int) -> str:
    character = chr(byte)
    return f"\\{byte:03o}" if character in '"\\?' or not 32 <= byte < 127 else character


def char_array(name: str, text: str) -> str:
    """Return the definition of a NUL-terminated string constant of any length."""
    if len(text.encode("utf-8")) <= _LONGEST_LITERAL:
        return f"static const char {name}[] = {literal(text)};"
    numbers = (byte if byte < 128 else byte - 256 for byte in text.encode("utf-8"))
    return f"static const char {name}[] = {{{', '.join(map(str, numbers))}, 0}};"


def number(value: Any, dtype: str = "int64") -> str:
    """Return the C constant of an int, float or bool."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float(value)
    if dtype == "uint64":
        return f"UINT64_C({value})"
    # C has no literal for INT64_MIN, because 2^63 without the minus sign exceeds int64_t.
    return "INT64_MIN" if value == -(2**63) else f"INT64_C({value})"


def _float(value: float) -> str:
    if math.isnan(value):
        return '__builtin_nan("")'
    if math.isinf(value):
        return f"{'-' if value < 0 else ''}__builtin_inf()"
    return repr(value)


def local_name(prefix: str, name: str, position: int) -> str:
    """Return the name of a C local: it ends with `name` if `name` is ASCII, else `position`."""
    return f"{prefix}_{name if _NAME.fullmatch(name) else position}"


def value_type(type_: Type) -> str:
    """Return the C type of a value that is not a tensor."""
    if isinstance(type_, ScalarType):
        return {"float32": "float", "float64": "double"}.get(type_.dtype, f"{type_.dtype}_t")
    accepted = accepted_type_names(type_)
    assert accepted is not None
    return _C_TYPE_OF_NAME[accepted[0]]


def element_type(dtype: str) -> str:
    """Return the C type of a dtype; ``void`` if C has no such type."""
    if _ELEMENT.fullmatch(dtype):
        return f"{dtype}_t"
    return {"bool": "bool", "float32": "float", "float64": "double"}.get(dtype, "void")
