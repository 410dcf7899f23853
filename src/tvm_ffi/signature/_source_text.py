# SPDX-License-Identifier: Apache-2.0
"""Scanner for exported functions and their signatures in C and C++ text.

The scanner does not run the preprocessor: it finds no exports that macros generate.
"""

from __future__ import annotations

import ast
import os
import re
import warnings
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ._signature import Signature

__all__ = ["SourceText", "checkable_exports", "is_checkable", "scanned"]

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
# Patterns of the placeholder that `scanned` puts in place of a string literal, and of a
# sequence of adjacent placeholders at the end of a macro call.
_PLACEHOLDER = re.compile(r"\0(\d+)\0")
_PLACEHOLDERS = r"((?:\0\d+\0\s*)+)\)"
_MACRO = re.compile(r"\bTVM_FFI_DLL_EXPORT_(SIGNATURE|TYPED_FUNC_WITH_SIGNATURE)\s*\(\s*(\w+)\s*,")
_TEXT = {
    "SIGNATURE": re.compile(r"\s*" + _PLACEHOLDERS),
    "TYPED_FUNC_WITH_SIGNATURE": re.compile(
        # The string literals follow the argument that is the C++ function.
        r".*,\s*" + _PLACEHOLDERS,
        re.DOTALL,
    ),
}
_PARENTHESIS = re.compile(r"[()]")
_DOC = re.compile(r"\bTVM_FFI_DLL_EXPORT_(?:TYPED_FUNC_)?DOC\s*\(\s*(\w+)\s*,\s*" + _PLACEHOLDERS)
_EXPORT = re.compile(r"\bTVM_FFI_DLL_EXPORT_TYPED_FUNC\s*\(\s*(\w+)|\b__tvm_ffi_(?!_)(\w+)\s*\(")
_BODY_OR_NOT = re.compile(
    r"[;{}]"
)  # the `{` after the parameters shows that the function is defined, not only declared
_CONDITIONAL = re.compile(r"[ \t]*#[ \t]*(if|endif)")


class SourceText(NamedTuple):
    """C or C++ text with placeholders for string literals, and without comments and macros."""

    text: str
    """The text; it has the line breaks of the file, so line numbers are those of the file."""
    literals: list[str]
    """Values of the string literals, by the numbers in the placeholders."""

    def literal(self, index: str) -> str:
        """Return the value of the literal with the number in a placeholder."""
        return self.literals[int(index)]

    def declarations(self) -> Iterator[tuple[re.Match[str], str | None]]:
        """Yield each macro that declares a signature, and the text of the signature.

        The second group of a match is the name of the function.  The text is None if it is not a
        string literal.
        """
        macros = list(_MACRO.finditer(self.text))
        limits = [*(macro.start() for macro in macros[1:]), len(self.text)]
        for macro, limit in zip(macros, limits):
            end = self._end_of_call(macro.end(), limit)
            written = _TEXT[macro[1]].fullmatch(self.text, macro.end(), end)
            yield macro, None if written is None else self._joined(written[1])

    def signatures(
        self, path: str | os.PathLike[str]
    ) -> Iterator[tuple[str, str, Signature | None]]:
        """Yield file and line, name and signature for each macro that declares a signature.

        The signature is None if it is not a string literal.

        Raises
        ------
        ValueError
            If a signature is invalid; the message has `path` and the line.
        """
        line, counted = 1, 0
        for macro, text in self.declarations():
            line += self.text.count("\n", counted, macro.start())
            counted = macro.start()
            where, name = f"{path}:{line}", macro[2]
            yield where, name, None if text is None else _declared_signature(name, text, where)

    def docs(self) -> Iterator[tuple[str, str]]:
        """Yield the name of each function with a documentation macro, and the documentation."""
        for doc in _DOC.finditer(self.text):
            yield doc[1], self._joined(doc[2])

    def exports(self) -> Iterator[re.Match[str]]:
        """Yield one match for each function that is exported without its signature.

        The first group is the name in an export macro, the second group the name in a definition of
        ``__tvm_ffi_*``.
        """
        body = _BODY_OR_NOT.search(self.text)
        for export in _EXPORT.finditer(self.text):
            while body is not None and body.start() < export.end():
                body = _BODY_OR_NOT.search(self.text, body.end())
            if export[1] or (body is not None and body[0] == "{"):
                yield export

    def unconditional(self) -> SourceText:
        """Return the text without the lines between ``#if`` and ``#endif``."""
        kept, depth = [], 0
        for line in self.text.split("\n"):
            directive = _CONDITIONAL.match(line)
            if directive is not None:
                depth = depth + 1 if directive[1] == "if" else max(depth - 1, 0)
            kept.append("" if depth or directive else line)
        return SourceText("\n".join(kept), self.literals)

    def _end_of_call(self, start: int, limit: int) -> int:
        """Return the offset after the `)` of a macro call; `limit` if the call is longer."""
        depth = 1
        for parenthesis in _PARENTHESIS.finditer(self.text, start, limit):
            depth += 1 if parenthesis[0] == "(" else -1
            if depth == 0:
                return parenthesis.end()
        return limit

    def _joined(self, placeholders: str) -> str:
        """Return the joined values of the string literals that some placeholders represent."""
        return "".join(map(self.literal, _PLACEHOLDER.findall(placeholders)))


def scanned(text: str) -> SourceText:
    """Return the text of a C or C++ file in the form that can be searched for exports.

    Comments and macro definitions are removed; line breaks are kept.
    """
    literals: list[str] = []

    def replacement(token: re.Match[str]) -> str:
        lines = "\n" * token[0].count("\n")
        if token["quoted"] is None and token["raw"] is None:
            return " " + lines
        literals.append(_unescaped(token["quoted"]) if token["raw"] is None else token["raw"])
        return f"\0{len(literals) - 1}\0{lines}"

    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", " ")
    return SourceText(_TOKEN.sub(replacement, text), literals)


def _unescaped(quoted: str) -> str:
    r"""Return the value of a string literal; keep escapes that Python lacks, such as ``\?``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return str(ast.literal_eval(f'"{quoted}"'))
        except (SyntaxError, ValueError):
            return quoted


def is_checkable(signature: Signature) -> bool:
    """Return True if generated code can check all arguments against a signature, and may do so."""
    return not signature.unchecked and all(
        parameter.kind != "variadic" for parameter in signature.parameters
    )


def _declared_signature(name: str, text: str, where: str) -> Signature:
    """Return the signature of a function; raise ValueError if its text or its name is wrong."""
    try:
        text.encode()
        signature = Signature.parse(text)
    except UnicodeEncodeError:
        raise ValueError(f"{where}: expected a signature of function {name!r} in UTF-8") from None
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
    if signature.name != name:
        raise ValueError(
            f"{where}: the signature of function {name!r} is for a function {signature.name!r}"
        )
    return signature


def checkable_exports(texts: Iterable[tuple[str, str]]) -> dict[str, Signature]:
    """Return the functions that C and C++ texts export with a signature that can be checked.

    Only a function that is certainly compiled, with this signature, is returned: both its
    definition and its signature are in the texts, not between ``#if`` and ``#endif``, and not made
    by macros other than the export macros.

    Parameters
    ----------
    texts : iterable of (str, str)
        Path and text of each file of a library.  Bytes that are not UTF-8 are surrogates, see
        PEP 383.

    Raises
    ------
    ValueError
        If a signature that is certainly compiled is invalid; the message has path and line.
    """
    found: dict[str, Signature | None] = {}
    defined: set[str] = set()
    for path, text in texts:
        source = scanned(text)
        compiled = source.unconditional()
        defined.update(export[2] for export in compiled.exports() if export[2])
        certain = {name: signature for _, name, signature in compiled.signatures(path)}
        for macro, _ in source.declarations():
            name = macro[2]
            # A name with several signatures has none that is certain.
            found[name] = None if name in found else certain.get(name)
            if macro[1] != "SIGNATURE":
                defined.add(name)
    return {
        name: signature
        for name, signature in found.items()
        if signature is not None and name in defined and is_checkable(signature)
    }
