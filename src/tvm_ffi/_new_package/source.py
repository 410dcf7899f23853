# SPDX-License-Identifier: Apache-2.0
"""The functions that a file in C or C++ exports, with their signatures, read without a compiler.

What the preprocessor would hide or make is not seen.
"""

from __future__ import annotations

import ast
import keyword
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from .._internal.regular_file import read_regular
from ..signature import Signature

__all__ = ["LANGUAGES", "exported_signatures"]

LANGUAGES = {".c": "C", ".cc": "CXX", ".cpp": "CXX", ".cxx": "CXX"}  # the words of CMake

_MOST_BYTES = 1 << 24
# What has no end goes on to that of its line, or of the text: to look for one again and again would
# take time, and no compiler takes such a file.
_TOKEN = re.compile(
    r"(?P<comment>//[^\n]*|/\*(?:.|\n)*?(?:\*/|\Z)|^[ \t]*#[ \t]*define\b(?:\\\n|[^\n])*)"
    r'|(?<!\w)(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\((?P<raw>(?:.|\n)*?)(?:\)(?P=mark)"|\Z)'
    r'|"(?P<quoted>(?:\\(?:.|\n)|[^"\\\n])*)(?:"|(?=\n)|\\?\Z)'
    r"|(?<!\w)'(?:\\.|[^'\\\n])+(?:'|\\?(?=\n|\Z))",  # not the marks between digits
    re.MULTILINE,
)
# What `_without_literals` leaves of a string literal, and several of them in a row.
_PLACE = re.compile(r"\0(\d+)\0")
_PLACES = r"((?:\0\d+\0\s*)+)\)"
_MACRO = re.compile(r"\bTVM_FFI_DLL_EXPORT_(SIGNATURE|TYPED_FUNC_WITH_SIGNATURE)\s*\(\s*(\w+)\s*,")
_TEXT = {
    "SIGNATURE": re.compile(r"\s*" + _PLACES),
    "TYPED_FUNC_WITH_SIGNATURE": re.compile(r"[^\0]*?,\s*" + _PLACES),  # behind the C++ function
}
_DOC = re.compile(r"\bTVM_FFI_DLL_EXPORT_(?:TYPED_FUNC_)?DOC\s*\(\s*(\w+)\s*,\s*" + _PLACES)
_EXPORT = re.compile(r"\bTVM_FFI_DLL_EXPORT_TYPED_FUNC\s*\(\s*(\w+)|\b__tvm_ffi_(?!_)(\w+)\s*\(")
_BODY_OR_NOT = re.compile(r"[;{}]")  # a brace behind the parameters opens a definition
_OWN_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*\0(\d+)\0", re.MULTILINE)


def exported_signatures(path: Path) -> list[Signature]:
    """Return the signatures of the functions that a source file exports, in its order.

    Documentation that the file has in macros of its own comes before that of a signature.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is neither C nor C++, exports nothing or something without a signature, or needs
        files of its own; the message has the line.
    """
    if path.suffix not in LANGUAGES:
        raise ValueError(f"{path}: expected a file in C or C++: {', '.join(LANGUAGES)}")
    try:
        written = read_regular(path, _MOST_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: expected text in UTF-8: {error}") from error
    text, literals = _without_literals(written.replace("\r\n", "\n").replace("\r", "\n"))
    found: dict[str, Signature] = {}
    line, counted = 1, 0
    for macro in _MACRO.finditer(text):
        line += text.count("\n", counted, macro.start())
        counted = macro.start()
        where = f"{path}:{line}"
        signature = _signature(macro, text, literals, where)
        name = macro[2]
        if signature.name != name:
            raise ValueError(f"{where}: the signature of {name!r} is about {signature.name!r}")
        if keyword.iskeyword(name):
            raise ValueError(f"{where}: {name!r} is a keyword of Python; give it another name")
        if name in found:
            raise ValueError(f"{where}: {name!r} has two signatures")
        found[name] = signature
    for doc in _DOC.finditer(text):
        if doc[1] in found:
            found[doc[1]] = replace(found[doc[1]], doc=_joined(doc[2], literals))
    _check_exports(path, text, found)
    for include in _OWN_INCLUDE.finditer(text):
        if (path.parent / literals[int(include[1])]).is_file():
            where = _place(path, text, include.start())
            name = literals[int(include[1])]
            raise ValueError(f"{where}: includes {name!r}, and a package is made from one file")
    return list(found.values())


def _check_exports(path: Path, text: str, found: dict[str, Signature]) -> None:
    """Raise ValueError unless something is exported, and all of it with a signature."""
    for export in _exports(text):
        name = export[1] or export[2]
        if name not in found:
            where = _place(path, text, export.start())
            macro = "SIGNATURE" if export[2] else "TYPED_FUNC_WITH_SIGNATURE"
            raise ValueError(
                f"{where}: {name!r} has no signature; say it with TVM_FFI_DLL_EXPORT_{macro}"
            )
    if not found:
        macro = "TVM_FFI_DLL_EXPORT_SIGNATURE"
        if LANGUAGES[path.suffix] == "CXX":
            macro = "TVM_FFI_DLL_EXPORT_TYPED_FUNC_WITH_SIGNATURE"
        raise ValueError(f"{path}: exports no function with a signature; say it with {macro}")


def _exports(text: str) -> Iterator[re.Match[str]]:
    """Return where functions are exported, by a macro or by their definition."""
    body = _BODY_OR_NOT.search(text)
    for export in _EXPORT.finditer(text):
        while body is not None and body.start() < export.end():
            body = _BODY_OR_NOT.search(text, body.end())
        if export[1] or (body is not None and body[0] == "{"):
            yield export


def _signature(macro: re.Match[str], text: str, literals: list[str], where: str) -> Signature:
    written = _TEXT[macro[1]].match(text, macro.end())
    if written is None:
        raise ValueError(f"{where}: expected the signature of {macro[2]!r} as text in quotes")
    try:
        return Signature.parse(_joined(written[1], literals))
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


def _joined(places: str, literals: list[str]) -> str:
    return "".join(literals[int(index)] for index in _PLACE.findall(places))


def _without_literals(text: str) -> tuple[str, list[str]]:
    """Return the text with numbers for string literals and without comments, and the literals.

    Macros that are defined there are no uses, and go as comments do.  Lines stay where they are.
    """
    literals: list[str] = []

    def place_of(token: re.Match[str]) -> str:
        lines = "\n" * token[0].count("\n")
        if token["quoted"] is None and token["raw"] is None:
            return " " + lines
        literals.append(_unescaped(token["quoted"]) if token["raw"] is None else token["raw"])
        return f"\0{len(literals) - 1}\0{lines}"

    return _TOKEN.sub(place_of, text.replace("\0", " ")), literals


def _unescaped(quoted: str) -> str:
    r"""Return what a literal says; an escape that Python has not, such as ``\?``, stays."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return str(ast.literal_eval(f'"{quoted}"'))
        except (SyntaxError, ValueError):
            return quoted


def _place(path: Path, text: str, position: int) -> str:
    return f"{path}:{text.count(chr(10), 0, position) + 1}"
