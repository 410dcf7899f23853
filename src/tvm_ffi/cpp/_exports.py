# SPDX-License-Identifier: Apache-2.0
"""Exported functions of inline builds, from the `functions` argument of `build_inline`.

If the argument is a mapping, each value is documentation or a signature.  A value is a signature if
it is a `Signature`, or text that starts with the function's name and a parenthesis and that
`Signature.parse` accepts.
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
    """The documentation of an exported function, or "", and its signature, or None."""

    doc: str = ""
    signature: Signature | None = None

    @property
    def is_checked(self) -> bool:
        """True if the exported function checks its arguments against the signature."""
        if self.signature is None:
            return False
        from ..signature._source_text import is_checkable

        return is_checkable(self.signature)


def exports_of(functions: Functions, unchecked: bool = False) -> dict[str, Export]:
    """Return documentation and signature of each function to export, by name.

    If `unchecked` is true, each signature gets the clause ``unchecked``.

    Raises
    ------
    TypeError
        If a value of the mapping is neither a string nor a `Signature`.
    ValueError
        If a `Signature` has another name than its function.

    Warns
    -----
    UserWarning
        If text starts like a signature but cannot be parsed; it is used as documentation.
    """
    if isinstance(functions, Mapping):
        return {name: _export(name, value, unchecked) for name, value in functions.items()}
    names = [functions] if isinstance(functions, str) else list(functions or ())
    return dict.fromkeys(names, Export())


def _export(name: str, value: str | Signature, unchecked: bool) -> Export:
    if isinstance(value, str) and not value.lstrip().startswith(f"{name}("):
        return Export(value)
    from ..signature import Signature  # lazy import, because most builds have no signature
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
    if unchecked:
        from dataclasses import replace  # loads `inspect`, which most builds do not need

        signature = replace(signature, unchecked=True)
    return Export(signature.doc or "", signature)


def _signature_in(name: str, text: str) -> Signature | None:
    from ..signature import Signature

    try:
        return Signature.parse(text)
    except ValueError as error:
        warnings.warn(
            f"functions[{name!r}] starts like a signature but cannot be parsed as one, so it is "
            f"used as documentation: {error}",
            UserWarning,
            stacklevel=2,
        )
        return None
