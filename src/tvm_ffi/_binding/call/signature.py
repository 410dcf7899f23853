# SPDX-License-Identifier: Apache-2.0
"""Signatures of functions, for ``inspect.signature`` and ``help``.

A Python callable has its own.  A library describes parameters by type only, so theirs are
positional and have numbers for names; the types are written as annotations would be.
"""

from __future__ import annotations

import inspect
import json
from inspect import Parameter, Signature
from typing import Any, Callable

__all__ = ["signature_of_callable", "signature_of_metadata", "signature_of_metadata_text"]

# How Python writes what schemas call differently; other names lose their namespace ``ffi``.
_PYTHON_NAMES = {
    "void*": "c_void_p",
    "DataType": "dtype",
    "DLTensor*": "Tensor",
    "const char*": "str",
    "TVMFFIByteArray*": "bytes",
    "ffi.String": "str",
    "ffi.SmallStr": "str",
    "ffi.Bytes": "bytes",
    "ffi.SmallBytes": "bytes",
    "ffi.BigInt": "int",
    "std::string": "str",
    "std::vector": "Array",
    "std::map": "Map",
    "std::unordered_map": "Map",
    "std::tuple": "tuple",
    "Tuple": "tuple",
}
_FUNCTIONS = ("ffi.Function", "std::function")


def signature_of_callable(function: Callable[..., Any]) -> Signature | None:
    """Return the signature of a Python callable; None where Python knows none."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):  # some built-in functions, broken `__signature__`
        return None


def signature_of_metadata_text(text: str | None) -> Signature | None:
    """Return the signature that the JSON text of a function's metadata describes, or None."""
    try:
        return signature_of_metadata(json.loads(text or "{}"))
    except (ValueError, RecursionError):
        return None


def signature_of_metadata(metadata: Any) -> Signature | None:
    """Return the signature that a function's metadata describes; None when it describes none.

    Parameters
    ----------
    metadata : dict
        Its member ``type_schema`` is the function's schema, or the JSON text of it.
    """
    try:
        schema = metadata["type_schema"]
        return _signature_of_schema(json.loads(schema) if isinstance(schema, str) else schema)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError):
        return None


def _signature_of_schema(schema: dict[str, Any]) -> Signature | None:
    declared = _declaration(schema)
    if declared is None:
        return None
    parameters = [
        Parameter(f"_{i}", Parameter.POSITIONAL_ONLY, annotation=_annotation(node))
        for i, node in enumerate(declared[1])
    ]
    return Signature(parameters, return_annotation=_annotation(declared[0]))


def _declaration(schema: dict[str, Any]) -> tuple[Any, list[Any]] | None:
    """Return result and parameters of a function's schema, in its present or earlier form."""
    if schema["type"] not in _FUNCTIONS:
        return None
    if "named_args" in schema:
        return schema["named_args"]["return"][0], schema["named_args"]["params"]
    return (schema["args"][0], schema["args"][1:]) if schema.get("args") else None


def _annotation(schema: Any) -> str:
    if not isinstance(schema, dict):
        return str(schema)  # the extent of a std::array
    name, args = schema["type"], schema.get("args", [])
    if name in _FUNCTIONS:
        declared = _declaration(schema)
        if declared is None:
            return "Callable[..., Any]"
        listed = ", ".join(map(_annotation, declared[1]))
        return f"Callable[[{listed}], {_annotation(declared[0])}]"
    if name in ("Optional", "std::optional"):
        return f"{_annotation(args[0])} | None"
    if name in ("Variant", "std::variant"):
        return " | ".join(map(_annotation, args))
    name = _PYTHON_NAMES.get(name, name.removeprefix("ffi."))
    return f"{name}[{', '.join(map(_annotation, args))}]" if args else name
