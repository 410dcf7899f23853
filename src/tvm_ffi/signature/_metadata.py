# SPDX-License-Identifier: Apache-2.0
"""Signatures in the metadata of library functions: reading, writing and damage warnings.

Metadata is a JSON object with the text of the signature in the member ``signature``, and the
function's type in ``type_schema``. A library may contain arbitrary metadata. Damaged metadata makes
the function lose its parameter names, nothing else; one warning reports it.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from typing import Any, Callable

from .._schema.json_form import schema_to_json
from ._signature import Signature
from ._type_schema import check_name

__all__ = [
    "metadata_text",
    "named_signature",
    "parsed_metadata",
    "read_signature",
    "signature_in",
    "warn_damaged",
]

_MAX_WARNED = 10_000  # largest number of functions in `_warned` before it is cleared
_warned: set[tuple[str, str]] = set()


def read_signature(get_metadata: Callable[[], Any], name: str, library: str) -> Signature | None:
    """Return the signature in a function's metadata; None if the metadata has no signature.

    Parameters
    ----------
    get_metadata : callable
        Returns the JSON text of the metadata, or None; it may run the library's code.
    name : str
        Name of the function.
    library : str
        Name of the library in warnings.

    Warns
    -----
    RuntimeWarning
        If the metadata is damaged; once for each function.  The signature is then derived from
        ``type_schema``, which has no parameter names.
    """
    try:
        metadata = parsed_metadata(get_metadata())
    except MemoryError:  # not reported as damage, because the metadata may be valid
        raise
    except Exception as error:
        warn_damaged(name, library, error)
        return None
    named = named_signature(metadata, name, library)
    if named is not None:
        return named
    try:
        return Signature.from_metadata({"type_schema": metadata.get("type_schema")}, name)
    except (TypeError, ValueError, RecursionError):
        return None


def named_signature(metadata: Mapping[str, Any], name: str, library: str) -> Signature | None:
    """Return the member ``signature`` of metadata, parsed; None if it is absent or damaged.

    A warning reports damage.
    """
    if metadata.get("signature") is None:
        return None
    try:
        return signature_in(metadata, name)
    except (TypeError, ValueError, RecursionError) as error:
        warn_damaged(name, library, error)
        return None


def signature_in(metadata: Mapping[str, Any], name: str) -> Signature | None:
    """Return the signature in metadata; None if the metadata has no signature.

    Raises
    ------
    ValueError
        If the member ``signature`` is not a signature, or is that of another function.
    """
    signature = Signature.from_metadata(metadata, name)
    if signature is not None:
        check_name(signature, name)
    return signature


def parsed_metadata(text: Any) -> dict[str, Any]:
    """Return the JSON object in the text of a function's metadata; an empty dict for no text.

    Raises
    ------
    TypeError, ValueError
        If `text` is not a str, or not the text of a JSON object.
    """
    if text is None or text == "":
        return {}
    if not isinstance(text, str):
        raise TypeError(f"expected the metadata as a str, got {type(text).__name__}")
    try:
        metadata = json.loads(text)
    except RecursionError:
        raise ValueError("the JSON of the metadata is nested too deep") from None
    except ValueError as error:
        raise ValueError(f"the metadata is not JSON: {error}") from None
    if not isinstance(metadata, dict):
        raise ValueError(f"expected a JSON object, got {type(metadata).__name__}")
    return metadata


def metadata_text(signature: Signature, members: Mapping[str, Any] | None = None) -> str:
    """Return the JSON text of metadata with a signature.

    Parameters
    ----------
    signature : Signature
        The signature.
    members : mapping, optional
        Further members of the metadata; ``type_schema`` is added if it is not among them.
    """
    schema = json.dumps(schema_to_json(signature.to_type_schema()))
    return json.dumps({"type_schema": schema, **(members or {}), "signature": str(signature)})


def warn_damaged(name: str, library: str, error: Exception) -> None:
    """Warn that a function's metadata is damaged, once for each function."""
    if (library, name) in _warned:
        return
    if len(_warned) >= _MAX_WARNED:
        _warned.clear()
    _warned.add((library, name))
    lines = str(error).strip().splitlines()
    problem = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    warnings.warn(
        f"{library}: the metadata of function '{name}' is damaged ({problem}); "
        "the function's parameters have no names",
        RuntimeWarning,
        stacklevel=3,
    )
