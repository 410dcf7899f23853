# SPDX-License-Identifier: Apache-2.0
"""Scanner for exported functions and their signatures in C and C++ source files.

The scanner does not run the preprocessor: it ignores conditional compilation, and does not find
exports that macros generate.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from .._internal.regular_file import read_regular
from ..signature import Signature
from .names import why_unusable

__all__ = ["LANGUAGES", "exported_signatures"]

# The name that CMake uses for the language of each file suffix.
LANGUAGES = {".c": "C", ".cc": "CXX", ".cpp": "CXX", ".cxx": "CXX"}

_MAX_BYTES = 1 << 24
# Pattern of comments and literals.  An unterminated comment or literal, which compilers refuse,
# extends to the end of the line or text.  Otherwise the search for its end would be repeated for
# each start, which takes quadratic time.
_TOKEN = re.compile(
    r"(?P<comment>//[^\n]*|/\*(?:.|\n)*?(?:\*/|\Z)|^[ \t]*#[ \t]*define\b(?:\\\n|[^\n])*)"
    r'|(?<!\w)(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\((?P<raw>(?:.|\n)*?)(?:\)(?P=mark)"|\Z)'
    r'|"(?P<quoted>(?:\\(?:.|\n)|[^"\\\n])*)(?:"|(?=\n)|\\?\Z)'
    # A character literal, not a digit separator as in 1'000.
    r"|(?<!\w)'(?:\\.|[^'\\\n])+(?:'|\\?(?=\n|\Z))",
    re.MULTILINE,
)
# Patterns of the placeholder that `_without_literals` puts in place of a string literal, and of a
# sequence of adjacent placeholders at the end of a macro call.
_PLACEHOLDER = re.compile(r"\0(\d+)\0")
_PLACEHOLDERS = r"((?:\0\d+\0\s*)+)\)"
_MACRO = re.compile(r"\bTVM_FFI_DLL_EXPORT_(SIGNATURE|TYPED_FUNC_WITH_SIGNATURE)\s*\(\s*(\w+)\s*,")
_TEXT = {
    "SIGNATURE": re.compile(r"\s*" + _PLACEHOLDERS),
    "TYPED_FUNC_WITH_SIGNATURE": re.compile(
        # The string literals follow the argument that is the C++ function.
        r"[^\0]*?,\s*" + _PLACEHOLDERS
    ),
}
_DOC = re.compile(r"\bTVM_FFI_DLL_EXPORT_(?:TYPED_FUNC_)?DOC\s*\(\s*(\w+)\s*,\s*" + _PLACEHOLDERS)
_EXPORT = re.compile(r"\bTVM_FFI_DLL_EXPORT_TYPED_FUNC\s*\(\s*(\w+)|\b__tvm_ffi_(?!_)(\w+)\s*\(")
_BODY_OR_NOT = re.compile(
    r"[;{}]"
)  # the `{` after the parameters shows that the function is defined, not only declared
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
            raise ValueError(
                f"{where}: the signature of function {name!r} is for a function {signature.name!r}"
            )
        reason = why_unusable(name)
        if reason is not None:
            raise ValueError(f"{where}: function name {name!r} {reason}; rename the function")
        if name in found:
            raise ValueError(f"{where}: function {name!r} has two signatures")
        found[name] = signature
    for doc in _DOC.finditer(text):
        if doc[1] in found:
            found[doc[1]] = replace(found[doc[1]], doc=_joined(doc[2], literals))
    _check_exports(path, text, found)
    for include in _OWN_INCLUDE.finditer(text):
        if (path.parent / literals[int(include[1])]).is_file():
            where = _position(path, text, include.start())
            name = literals[int(include[1])]
            raise ValueError(
                f"{where}: the source file includes {name!r}, but a package has only one source "
                "file"
            )
    return list(found.values())


def _check_exports(path: Path, text: str, found: dict[str, Signature]) -> None:
    """Raise ValueError if no function is exported, or an exported function is not in `found`."""
    for export in _exports(text):
        name = export[1] or export[2]
        if name not in found:
            where = _position(path, text, export.start())
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


def _exports(text: str) -> Iterator[re.Match[str]]:
    """Yield one match of the pattern `_EXPORT` for each exported function.

    A function is exported by an export macro or by a definition of ``__tvm_ffi_*``.
    """
    body = _BODY_OR_NOT.search(text)
    for export in _EXPORT.finditer(text):
        while body is not None and body.start() < export.end():
            body = _BODY_OR_NOT.search(text, body.end())
        if export[1] or (body is not None and body[0] == "{"):
            yield export


def _signature(macro: re.Match[str], text: str, literals: list[str], where: str) -> Signature:
    written = _TEXT[macro[1]].match(text, macro.end())
    if written is None:
        raise ValueError(
            f"{where}: expected a string literal as the signature of function {macro[2]!r}"
        )
    try:
        return Signature.parse(_joined(written[1], literals))
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


def _joined(placeholders: str, literals: list[str]) -> str:
    """Return the joined values of the string literals that some placeholders represent."""
    return "".join(literals[int(index)] for index in _PLACEHOLDER.findall(placeholders))


def _without_literals(text: str) -> tuple[str, list[str]]:
    """Return C or C++ text with placeholders for string literals, and the list of literals.

    Comments and macro definitions are removed; line breaks are kept, so line numbers do not change.
    """
    literals: list[str] = []

    def replacement(token: re.Match[str]) -> str:
        lines = "\n" * token[0].count("\n")
        if token["quoted"] is None and token["raw"] is None:
            return " " + lines
        literals.append(_unescaped(token["quoted"]) if token["raw"] is None else token["raw"])
        return f"\0{len(literals) - 1}\0{lines}"

    return _TOKEN.sub(replacement, text.replace("\0", " ")), literals


def _unescaped(quoted: str) -> str:
    r"""Return the value of a string literal; keep escapes that Python lacks, such as ``\?``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return str(ast.literal_eval(f'"{quoted}"'))
        except (SyntaxError, ValueError):
            return quoted


def _position(path: Path, text: str, offset: int) -> str:
    """Return ``path:line`` for an offset in the text of the file."""
    return f"{path}:{text.count(chr(10), 0, offset) + 1}"
