# SPDX-License-Identifier: Apache-2.0
"""Signatures of functions, for ``inspect.signature`` and ``help``.

A Python callable has its own.  A library describes parameters by type only, so theirs are
positional and have numbers for names; the types are written as `TypeSchema` writes them.
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
    function = declared_function(metadata, Schema)
    try:
        return None if function is None else _signature_of_groups(function.named_args or {})
    except RecursionError:  # it may nest as deep as reading it just allows
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
