# SPDX-License-Identifier: Apache-2.0
"""Python type names in error messages of native code.

Native code names types by their keys or C++ names, which callers in every language understand.
When a native error becomes a Python exception, this module replaces these names in its message by
Python type names.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

from tvm_ffi._schema.names import ORIGIN_OF_JSON_NAME

__all__ = ["array_remedy", "with_argument_class", "with_python_type_names"]

# A quoted part of a message is a type, a function with its signature, or any other text.
_QUOTED = re.compile(r"`([^`]*)`")
_FUNCTION = re.compile(r"(.*?)( ?\(.*)", re.DOTALL)
_NATIVE_NAME = re.compile(
    r"std::\w+|ffi\.\w+|const char\*|DLTensor\*|TVMFFIByteArray\*|void\*|DataType"
    r"|(?:Variant|Tuple)(?=<)"
)
_OPAQUE_ARGUMENT = re.compile(
    r"argument #(?P<argument>\d+) when calling: .*(?P<expected>Expected .*) but got "
    r"`(?:Array\[index (?P<element>\d+): )?(?P<type>ffi\.OpaquePyObject)\]?`$",
    re.DOTALL,
)
_PYTHON_NAMES = {
    **ORIGIN_OF_JSON_NAME,
    "ffi.BigInt": "int of more than 64 bits",
    "ffi.Error": "tvm_ffi.core.Error",
    "ffi.Function": "Function",
    "ffi.Module": "Module",
    "ffi.OpaquePyObject": "ffi.OpaquePyObject",  # see `with_argument_class`
    "ffi.Shape": "Shape",
}


def with_python_type_names(message: str) -> str:
    """Return a message with native type names replaced by Python type names."""
    return _QUOTED.sub(lambda found: f"`{_translate(found.group(1))}`", message)


def with_argument_class(message: str, arguments: Sequence[Any]) -> str:
    """Return a message about an argument with ``ffi.OpaquePyObject`` replaced by its class name.

    Parameters
    ----------
    message : str
        Message of native code, which numbers arguments from ``#0``.
    arguments : sequence
        Arguments of the call.
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
    remedy = array_remedy(value) if "Tensor" in found.group("expected") else ""
    return message[:begin] + public_name(type(value)) + message[end:] + remedy


def array_remedy(value: Any) -> str:
    """Return the end of an error message about a value that is not passed as a tensor.

    Returns how to create an array of the elements; an empty string if the value has none.
    """
    cls = type(value)
    if hasattr(cls, "to_numpy"):
        return "; pass its elements as an array, with `.to_numpy()`"
    if hasattr(cls, "__array__"):
        return "; pass its elements as an array, with `numpy.asarray(...)`"
    try:
        memoryview(value)
    except (TypeError, ValueError, BufferError):
        return ""
    return "; pass its elements as an array, with `memoryview(...)`"


def public_name(cls: type) -> str:
    """Return the name under which a class is imported, such as `pandas.Series`."""
    if cls.__module__ == "builtins":
        return cls.__qualname__
    package = cls.__module__.partition(".")[0]
    exported = vars(sys.modules.get(package, re)).get(cls.__qualname__)
    return f"{package if exported is cls else cls.__module__}.{cls.__qualname__}"


def _translate(quoted: str) -> str:
    function = _FUNCTION.fullmatch(quoted)
    if function is not None:  # the function's name is not a type name
        return function.group(1) + _translate_types(function.group(2))
    return _translate_types(quoted)


def _translate_types(text: str) -> str:
    if "<unregistered type" in text:  # the text of the type key, not type arguments
        return text
    renamed = _NATIVE_NAME.sub(lambda found: _PYTHON_NAMES.get(found.group(), found.group()), text)
    return re.sub(r"<|(?<!-)>", lambda found: "[" if found.group() == "<" else "]", renamed)
