# SPDX-License-Identifier: Apache-2.0
"""Sphinx directive ``c-section``: the declarations in one section of a C header.

    .. c-section:: tvm/ffi/c_api.h
       :section: Errors

A section begins with a comment ``/* ---- TITLE ---- ...``; the rest of that comment is shown before
the declarations.  A header without sections is shown whole.  A page must show every section.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from header_index import C_HEADERS, INCLUDE, Declaration, c_declarations, source_of
from header_prose import escaped, rst_of, rst_of_paragraphs, sentence
from header_text import parts_of
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

_LOG = logging.getLogger(__name__)
_HEADING = re.compile(r"^/\* ---- (.+?) -+(?:\s*\*/|\n(.*?)\*/)", re.MULTILINE | re.DOTALL)
ACCESSORS = "Accessors"


@cache
def sections_of(header: str) -> dict[str, tuple[int, str]]:
    """Return the first line and the introduction of each section, by title."""
    text = source_of(header).text
    found: dict[str, tuple[int, str]] = {}
    for match in _HEADING.finditer(text):
        lines = [re.sub(r"^ \* ?", "", line) for line in (match[2] or "").splitlines()]
        found[match[1]] = (text.count("\n", 0, match.start()) + 1, "\n".join(lines).strip())
    return found


def section_at(header: str, line: int) -> str:
    """Return the title of the section that contains a line, or an empty string."""
    titles = [title for title, (start, _) in sections_of(header).items() if start <= line]
    return titles[-1] if titles else ""


def parameters_of(prototype: str) -> tuple[str, ...]:
    """Return the names of a function's parameters."""
    if prototype.endswith("(void)"):
        return ()
    flat = re.sub(r"\(\*(\w+)\)\([^()]*\)", r"\1", prototype)
    return tuple(re.findall(r"(\w+)\s*(?:,|\)$)", flat))


class CSection(SphinxDirective):
    """Directive ``c-section``, see the module."""

    required_arguments = 1
    option_spec: ClassVar[Any] = {"section": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        """Return the descriptions of the section's declarations."""
        header, section = self.arguments[0], self.options.get("section", "")
        for path in (__file__, INCLUDE / header):
            self.env.note_dependency(str(path))
        if section and section not in sections_of(header):
            raise self.error(f"{header} has no section {section!r}")
        _shown(self.env).setdefault(self.env.docname, set()).add((header, section))
        introduction = sections_of(header)[section][1] if section else ""
        lines = rst_of_paragraphs([text for text in re.split(r"\n\n+", introduction) if text])
        for entry in c_declarations():
            if entry.header == header and section_at(header, entry.line) == section:
                lines += _description(entry)
        return parse_rst(self, lines, header)


def parse_rst(directive: SphinxDirective, lines: list[str], header: str) -> list[nodes.Node]:
    """Parse reStructuredText lines that were generated from a header."""
    container = nodes.container()
    content = StringList(lines, source=str(INCLUDE / header))
    directive.state.nested_parse(content, 0, container)
    return list(container.children)


def _shown(env: Any) -> dict[str, set[tuple[str, str]]]:
    if not hasattr(env, "c_sections_shown"):
        env.c_sections_shown = {}
    shown: dict[str, set[tuple[str, str]]] = env.c_sections_shown
    return shown


# ---- Declarations as reStructuredText ------------------------------------------------------------


def _description(entry: Declaration) -> list[str]:
    if entry.kind == "function":
        return _function(entry)
    if entry.kind in ("class", "enum"):
        return _compound(entry)
    described = parts_of(entry.comment, parameters_of(entry.prototype))
    directive = {"type": "c:type", "macro": "c:macro"}[entry.kind]
    prototype = entry.prototype.removeprefix("typedef ")
    return _block(f".. {directive}:: {prototype}", _body(described, returns=""))


def _function(entry: Declaration) -> list[str]:
    described = parts_of(entry.comment, parameters_of(entry.prototype))
    returns = ""
    if entry.prototype.startswith("int ") and section_at(entry.header, entry.line) != ACCESSORS:
        is_safe = described.phrases.get("Fails", "").startswith("never")
        returns = "0." if is_safe else "0, or -1 with an error in the calling thread's slot."
    return _block(f".. c:function:: {entry.prototype}", _body(described, returns))


def _body(described: Any, returns: str) -> list[str]:
    lines = rst_of_paragraphs(described.paragraphs)
    if described.parameters:
        lines.append(":Parameters:")
        for names, text in described.parameters:
            shown = ", ".join(f"**{escaped(name)}**" for name in names.split(", "))
            lines += [f"   * {shown}: {rst_of(text)}", ""]
    phrases = {"Returns": returns, **described.phrases}
    titles = {"Fails": "Errors", "Parameters": "Parameters"}
    for name in ("Parameters", "Returns", "Fails", "Threads"):
        if phrases.get(name):
            lines.append(f":{titles.get(name, name)}: {rst_of(sentence(phrases[name]))}")
    return lines


def _compound(entry: Declaration) -> list[str]:
    directive = {"class": "c:struct", "enum": "c:enum"}[entry.kind]
    body = rst_of_paragraphs([text for text in re.split(r"\n\n+", entry.comment) if text])
    if "union {" in entry.text:
        body += [".. code-block:: c", "", *(f"   {line}" for line in _definition(entry)), ""]
    for member in entry.members:
        inner = "c:enumerator" if member.kind == "enumerator" else "c:member"
        comment = rst_of(sentence(member.comment))
        body += _block(f".. {inner}:: {member.prototype}", [comment] if comment else [])
    return _block(f".. {directive}:: {entry.name}", body)


def _definition(entry: Declaration) -> list[str]:
    text = re.sub(r"\s*/\*.*?\*/", "", entry.text, flags=re.DOTALL)
    return [*text.splitlines()[:-1], "};"]


def _block(head: str, body: list[str]) -> list[str]:
    return [head, "", *(f"   {line}" if line else "" for line in body), ""]


# ---- Completeness check --------------------------------------------------------------------------


def check(app: Any, env: Any) -> None:
    """Warn about each section with declarations that no page shows."""
    shown = set().union(*_shown(env).values())
    for header in C_HEADERS:
        entries = [entry for entry in c_declarations() if entry.header == header]
        sections = {section_at(header, entry.line) for entry in entries} - {""}  # "": the guard
        for section in sorted(sections - {section for name, section in shown if name == header}):
            _LOG.warning("no page shows the section %r of %s", section, header)


def forget(app: Any, env: Any, name: str) -> None:
    """Delete the record of a page that Sphinx reads again."""
    _shown(env).pop(name, None)


def setup(app: Any) -> dict[str, bool]:
    """Register the directive and its check."""
    app.add_directive("c-section", CSection)
    app.connect("env-purge-doc", forget)
    app.connect("env-check-consistency", check)
    return {"parallel_read_safe": False}
