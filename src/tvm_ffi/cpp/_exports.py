# SPDX-License-Identifier: Apache-2.0
"""What libraries from source text export, and what they say about it.

The value of a function is documentation, unless it is a `Signature` or text that is one: it begins
with the function's own name and a parenthesis, and all of it can be read as a signature.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Union

if TYPE_CHECKING:
    from ..signature import Signature

__all__ = ["Export", "Functions", "exports_of"]

Functions = Union["Mapping[str, str | Signature]", Sequence[str], str, None]


class Export(NamedTuple):
    """What the library says about a function; empty texts for nothing."""

    doc: str = ""
    signature: str = ""


def exports_of(functions: Functions) -> dict[str, Export]:
    """Return the functions to export.

    Raises
    ------
    TypeError
        If a value is neither text nor a `Signature`.
    ValueError
        If a `Signature` is that of a function with another name.

    Warns
    -----
    UserWarning
        If text begins like the signature of its function and is none: it is documentation.
    """
    if isinstance(functions, Mapping):
        return {name: _export(name, value) for name, value in functions.items()}
    names = [functions] if isinstance(functions, str) else list(functions or ())
    return dict.fromkeys(names, Export())


def _export(name: str, value: str | Signature) -> Export:
    if isinstance(value, str) and not value.lstrip().startswith(f"{name}("):
        return Export(value)
    from ..signature import Signature  # only for those who have one: builds load little
    from ..signature._type_schema import check_name

    if isinstance(value, str):
        signature = _signature_in(name, value)
        if signature is None:
            return Export(value)
    elif isinstance(value, Signature):
        signature = value
    else:
        raise TypeError(
            f"functions[{name!r}] must be documentation or a signature, got {type(value).__name__}"
        )
    check_name(signature, name)
    return Export(signature.doc or "", str(signature))


def _signature_in(name: str, text: str) -> Signature | None:
    from ..signature import Signature

    try:
        return Signature.parse(text)
    except ValueError as error:
        warnings.warn(
            f"functions[{name!r}] begins like a signature and is none, so it is documentation: "
            f"{error}",
            UserWarning,
            stacklevel=2,
        )
        return None
