# SPDX-License-Identifier: Apache-2.0
"""Signatures of functions for ``inspect.signature`` and ``help``.

Callbacks have the signature of their Python callable.  For native functions, metadata without a
`Signature` contain only the types of parameters: the signature then has positional parameters with
the names ``_0``, ``_1`` and so on.
"""

from __future__ import annotations

import inspect
import json
from inspect import Parameter, Signature
from typing import Any, Callable

from tvm_ffi._binding.object import type_key_to_index
from tvm_ffi._schema.json_form import declared_function
from tvm_ffi._schema.printing import TypePrinter
from tvm_ffi._schema.schema import Schema

__all__ = ["signature_of_callable", "signature_of_metadata", "signature_of_metadata_text"]

_PRINTER = TypePrinter(type_key_to_index)


def signature_of_callable(function: Callable[..., Any]) -> Signature | None:
    """Return the signature of a Python callable; None if `inspect.signature` fails."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):  # raised for some built-in functions and invalid signatures
        return None


def signature_of_metadata_text(text: str | None) -> Signature | None:
    """Return the signature in the JSON text of a function's metadata; None if there is none."""
    try:
        return signature_of_metadata(json.loads(text or "{}"))
    except (ValueError, RecursionError):
        return None


def signature_of_metadata(metadata: Any) -> Signature | None:
    """Return the signature in a function's metadata; None if they contain no function type.

    Parameters
    ----------
    metadata : dict
        The metadata.  ``metadata["type_schema"]`` is the type schema of the function, or its JSON
        text.
    """
    function = declared_function(metadata, Schema)
    try:
        return None if function is None else _signature_of_groups(function.named_args or {})
    except RecursionError:  # printing a schema recurses deeper than parsing it
        return None


def _signature_of_groups(groups: dict[str, tuple[Schema, ...]]) -> Signature:
    if "params" in groups:
        parameters = [
            Parameter(f"_{i}", Parameter.POSITIONAL_ONLY, annotation=_PRINTER.text(schema))
            for i, schema in enumerate(groups["params"])
        ]
    else:
        parameters = [Parameter("args", Parameter.VAR_POSITIONAL, annotation="Any")]
    return Signature(parameters, return_annotation=_PRINTER.text(groups["return"][0]))
