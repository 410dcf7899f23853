# SPDX-License-Identifier: Apache-2.0
"""Messages about types in the words of Python.

Native code calls types by their keys or by their names in C++, which callers of every language
understand.  Where such an error becomes a Python exception, the types get the names that a Python
program knows them by.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

from tvm_ffi._schema.names import ORIGIN_OF_JSON_NAME

__all__ = ["in_python_words", "with_class"]

# What messages quote: a type, a function with its signature, or another text.
_QUOTED = re.compile(r"`([^`]*)`")
_FUNCTION = re.compile(r"(.*?)( ?\(.*)", re.DOTALL)
_WORD = re.compile(
    r"std::\w+|ffi\.\w+|const char\*|DLTensor\*|TVMFFIByteArray\*|void\*|DataType"
    r"|(?:Variant|Tuple)(?=<)"
)
_OPAQUE_ARGUMENT = re.compile(
    r"argument #(?P<argument>\d+) when calling: .* but got "
    r"`(?:Array\[index (?P<element>\d+): )?(?P<type>ffi\.OpaquePyObject)\]?`$",
    re.DOTALL,
)
_WORDS = {
    **ORIGIN_OF_JSON_NAME,
    "ffi.BigInt": "int of more than 64 bits",
    "ffi.Error": "tvm_ffi.core.Error",
    "ffi.Function": "Function",
    "ffi.Module": "Module",
    "ffi.OpaquePyObject": "ffi.OpaquePyObject",  # who has the arguments knows the class
    "ffi.Shape": "Shape",
}


def in_python_words(message: str) -> str:
    """Return a message in which the types have the names that they have in Python."""
    return _QUOTED.sub(lambda found: f"`{_translated(found.group(1))}`", message)


def with_class(message: str, arguments: Sequence[Any]) -> str:
    """Return a message about an argument in which an opaque object goes by the name of its class.

    Parameters
    ----------
    message : str
        What native code says, in which ``#1`` counts the arguments.
    arguments : sequence
        Those of the call.
    """
    found = _OPAQUE_ARGUMENT.search(message)
    if found is None or int(found.group("argument")) >= len(arguments):
        return message
    value = arguments[int(found.group("argument"))]
    element = found.group("element")
    if element is not None:
        if not isinstance(value, (list, tuple)) or int(element) >= len(value):
            return message
        value = value[int(element)]
    begin, end = found.span("type")
    return message[:begin] + public_name(type(value)) + message[end:]


def public_name(cls: type) -> str:
    """Return the name by which a class is imported: `pandas.Series`."""
    if cls.__module__ == "builtins":
        return cls.__qualname__
    package = cls.__module__.partition(".")[0]
    shown = vars(sys.modules.get(package, re)).get(cls.__qualname__)
    return f"{package if shown is cls else cls.__module__}.{cls.__qualname__}"


def _translated(quoted: str) -> str:
    function = _FUNCTION.fullmatch(quoted)
    if function is not None:  # its name is not a type
        return function.group(1) + _types(function.group(2))
    return _types(quoted)


def _types(text: str) -> str:
    renamed = _WORD.sub(lambda found: _WORDS.get(found.group(), found.group()), text)
    return re.sub(r"<|(?<!-)>", lambda found: "[" if found.group() == "<" else "]", renamed)
