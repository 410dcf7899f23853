# SPDX-License-Identifier: Apache-2.0
"""Sphinx directive ``cpp-headers``: the public declarations of C++ headers.

    .. cpp-headers::

       tvm/ffi/any.h
       tvm/ffi/any_hash_detail.h

The leading comment of the first header comes first, then the declarations of all headers, macros
last.  Adjacent declarations without a comment share the comment of the first.  A condition of
``std::enable_if_t`` is shown below the prototype, not in it.  A page must show every header with
public declarations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from c_reference import parse_rst
from docutils import nodes
from header_index import INCLUDE, Declaration, cpp_declarations, source_of
from header_prose import rst_of_paragraphs
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

_LOG = logging.getLogger(__name__)
_DIRECTIVES = {
    "class": "cpp:class",
    "enum": "cpp:enum-class",
    "enumerator": "cpp:enumerator",
    "function": "cpp:function",
    "macro": "c:macro",
    "member": "cpp:member",
    "type": "cpp:type",
}


class CppHeaders(SphinxDirective):
    """Directive ``cpp-headers``, see the module."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the descriptions of the headers' declarations."""
        headers = [line.strip() for line in self.content if line.strip()]
        self.env.note_dependency(__file__)
        for header in headers:
            if not (INCLUDE / header).is_file():
                raise self.error(f"header not found: {header}")
            self.env.note_dependency(str(INCLUDE / header))
        _shown(self.env).setdefault(self.env.docname, set()).update(headers)
        entries = [entry for entry in cpp_declarations() if entry.header in headers]
        entries.sort(key=lambda entry: (headers.index(entry.header), entry.line))
        entries.sort(key=_rank)
        lines = rst_of_paragraphs(source_of(headers[0]).leading_paragraphs())
        for namespace, group in groupby(entries, key=lambda entry: entry.namespace):
            lines += [f".. cpp:namespace:: {namespace or 'nullptr'}", ""] if namespace else []
            lines += descriptions(group)
        lines += [".. cpp:namespace:: nullptr", ""]
        return parse_rst(self, lines, headers[0])


def _rank(entry: Declaration) -> int:
    """Return the sort key on a page: reference classes before object classes, macros last."""
    if entry.kind == "macro":
        return 2
    return 1 if entry.kind == "class" and entry.name.endswith("Obj") else 0


def _shown(env: Any) -> dict[str, set[str]]:
    if not hasattr(env, "cpp_headers_shown"):
        env.cpp_headers_shown = {}
    shown: dict[str, set[str]] = env.cpp_headers_shown
    return shown


# ---- Declarations as reStructuredText ------------------------------------------------------------


def descriptions(entries: Iterable[Declaration]) -> list[str]:
    """Return the descriptions of declarations; declarations with one comment share a block."""
    lines: list[str] = []
    groups: list[list[Declaration]] = []
    for entry in entries:
        if groups and shares_comment(entry, groups[-1][-1]):
            groups[-1].append(entry)
        else:
            groups.append([entry])
    for group in groups:
        lines += _description(group)
    return lines


def shares_comment(entry: Declaration, before: Declaration) -> bool:
    """Return True if the comment of the preceding declaration also describes this one."""
    if entry.comment or entry.kind != before.kind:
        return False
    if entry.kind == "macro" or (entry.kind == "function" and not entry.is_member):
        # Declarations without an empty line between them share the comment above them.
        between = source_of(entry.header).lines[before.line : entry.line - 1]
        return entry.header == before.header and all(line.strip() for line in between)
    if entry.kind != "function" or entry.name != before.name:
        return False
    return without_conditions(entry.prototype)[1] == without_conditions(before.prototype)[1]


def _description(group: list[Declaration]) -> list[str]:
    first = group[0]
    signatures = dict.fromkeys(
        _spelled(entry, without_conditions(entry.prototype)[0]) for entry in group
    )
    conditions = without_conditions(first.prototype)[1]
    body = rst_of_paragraphs([text for text in re.split(r"\n\n+", first.comment) if text])
    if conditions:
        shown = ", ".join(f"``{condition}``" for condition in conditions)
        body += [f"Only where {shown}.", ""]
    body += descriptions(first.members)
    for macro, names in first.defined_by.items():
        made = ", ".join(f"``{name}``" for name in dict.fromkeys(names) if name.strip("_") == name)
        body += [f":c:macro:`{macro}` adds {made}.", ""]
    directive = _DIRECTIVES[first.kind]
    head = f".. {directive}:: "
    heads = [("" if index else head) + text for index, text in enumerate(signatures)]
    heads = [heads[0], *(" " * len(head) + text for text in heads[1:])]
    return [*heads, "", *(f"   {line}" if line else "" for line in body), ""]


def _spelled(entry: Declaration, signature: str) -> str:
    """Return a signature in Sphinx's form: without the keyword that the directive implies."""
    if entry.kind == "class":
        signature = re.sub(r"(^|> )(?:class|struct) ", r"\1", signature)
        bases = ", ".join(f"public {_readable(base)}" for base in entry.bases)
        return f"{signature} : {bases}" if bases else signature
    if entry.kind == "enum":
        return re.sub(r"^enum (class )?", "", signature)
    if entry.kind == "type":
        return re.sub(r"(^|> )(?:typedef|using) ", r"\1", signature)
    return re.sub(r"^explicit\(.*?\) ", "explicit ", signature)


# ---- Conditions ----------------------------------------------------------------------------------


def without_conditions(prototype: str) -> tuple[str, list[str]]:
    """Return a prototype without `std::enable_if_t`, and its conditions."""
    conditions: list[str] = []
    if prototype.startswith("template"):
        end = _closing(prototype, prototype.index("<"))
        parameters = _split(prototype[prototype.index("<") + 1 : end])
        kept = []
        for parameter in parameters:
            if "std::enable_if_t<" in parameter:
                start = parameter.index("std::enable_if_t<") + len("std::enable_if_t")
                conditions.append(_split(parameter[start + 1 : _closing(parameter, start)])[0])
            else:
                kept.append(parameter)
        head = f"template<{', '.join(kept)}> " if kept else ""
        prototype = head + prototype[end + 1 :].strip()
    if " std::enable_if_t<" in f" {prototype}":
        start = prototype.index("std::enable_if_t<") + len("std::enable_if_t")
        end = _closing(prototype, start)
        condition, *result = _split(prototype[start + 1 : end])
        conditions.append(condition)
        before = prototype[: start - len("std::enable_if_t")]
        prototype = before + (result[0] if result else "void") + prototype[end + 1 :]
    return _readable(prototype), [_readable(condition) for condition in conditions]


def _readable(text: str) -> str:
    return re.sub(r"\bdetails?::", "", text)


# Brackets, but not comparison operators and arrows.
_BRACKET = re.compile(r"(?<!-)(?<! )>(?!=)|<(?![ =<])|[()\[\]{}]")


def _steps(text: str) -> Iterator[tuple[int, int]]:
    """Yield the position of each bracket, and the nesting depth after it."""
    depth = 0
    for match in _BRACKET.finditer(text):
        depth += 1 if match[0] in "<([{" else -1
        yield match.start(), depth


def _closing(text: str, start: int) -> int:
    """Return the position of the bracket that closes the one at `start`."""
    return start + next(position for position, depth in _steps(text[start:]) if depth == 0)


def _split(text: str) -> list[str]:
    """Split at the commas outside of brackets."""
    depths = dict(_steps(text))
    parts, depth = [""], 0
    for position, character in enumerate(text):
        depth = depths.get(position, depth)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


# ---- Completeness check --------------------------------------------------------------------------


def check(app: Any, env: Any) -> None:
    """Warn about each header with public declarations that no page shows."""
    shown = set().union(*_shown(env).values())
    for header in sorted({entry.header for entry in cpp_declarations()} - shown):
        _LOG.warning("no page of docs/reference/cpp shows the declarations of %s", header)


def forget(app: Any, env: Any, name: str) -> None:
    """Delete the record of a page that Sphinx reads again."""
    _shown(env).pop(name, None)


def setup(app: Any) -> dict[str, bool]:
    """Register the directive and its check."""
    app.add_directive("cpp-headers", CppHeaders)
    app.connect("env-purge-doc", forget)
    app.connect("env-check-consistency", check)
    return {"parallel_read_safe": False}
