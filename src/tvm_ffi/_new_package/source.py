# SPDX-License-Identifier: Apache-2.0
"""Exported functions and their signatures in the source file of a new package.

Conditional compilation is ignored.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from .._internal.regular_file import read_regular
from ..signature import Signature
from ..signature._source_text import SourceText, scanned
from .names import why_unusable

__all__ = ["LANGUAGES", "exported_signatures"]

# The name that CMake uses for the language of each file suffix.
LANGUAGES = {".c": "C", ".cc": "CXX", ".cpp": "CXX", ".cxx": "CXX"}

_MAX_BYTES = 1 << 24
_OWN_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*\0(\d+)\0", re.MULTILINE)


def exported_signatures(path: Path) -> list[Signature]:
    """Return the signatures of the exported functions of a source file, in file order.

    Documentation in ``TVM_FFI_DLL_EXPORT_..._DOC`` macros replaces the documentation in a
    signature.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If the file is neither C nor C++, exports no function, exports a function without a
        signature, or includes another file of its folder; the message has the line number.
    """
    if path.suffix not in LANGUAGES:
        raise ValueError(f"{path}: expected a C or C++ file ({', '.join(LANGUAGES)})")
    try:
        written = read_regular(path, _MAX_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: expected text in UTF-8: {error}") from error
    source = scanned(written)
    text = source.text
    found: dict[str, Signature] = {}
    for where, name, signature in source.signatures(path):
        if signature is None:
            raise ValueError(
                f"{where}: expected a string literal as the signature of function {name!r}"
            )
        reason = why_unusable(name)
        if reason is not None:
            raise ValueError(f"{where}: function name {name!r} {reason}; rename the function")
        if name in found:
            raise ValueError(f"{where}: function {name!r} has two signatures")
        found[name] = signature
    for name, doc in source.docs():
        if name in found:
            found[name] = replace(found[name], doc=doc)
    _check_exports(path, source, found)
    for include in _OWN_INCLUDE.finditer(text):
        name = source.literal(include[1])
        if (path.parent / name).is_file():
            where = _position(path, text, include.start())
            raise ValueError(
                f"{where}: the source file includes {name!r}, but a package has only one source "
                "file"
            )
    return list(found.values())


def _check_exports(path: Path, source: SourceText, found: dict[str, Signature]) -> None:
    """Raise ValueError if no function is exported, or an exported function is not in `found`."""
    for export in source.exports():
        name = export[1] or export[2]
        if name not in found:
            where = _position(path, source.text, export.start())
            macro = "SIGNATURE" if export[2] else "TYPED_FUNC_WITH_SIGNATURE"
            raise ValueError(
                f"{where}: exported function {name!r} has no signature; add "
                f"TVM_FFI_DLL_EXPORT_{macro}"
            )
    if not found:
        macro = "TVM_FFI_DLL_EXPORT_SIGNATURE"
        if LANGUAGES[path.suffix] == "CXX":
            macro = "TVM_FFI_DLL_EXPORT_TYPED_FUNC_WITH_SIGNATURE"
        raise ValueError(
            f"{path}: the source file exports no function with a signature; add {macro}"
        )


def _position(path: Path, text: str, offset: int) -> str:
    """Return ``path:line`` for an offset in the text of the file."""
    return f"{path}:{text.count(chr(10), 0, offset) + 1}"
