# SPDX-License-Identifier: Apache-2.0
"""Conversion of header comments to reStructuredText: backticks become code, C names links."""

from __future__ import annotations

import re
from functools import cache

from docutils import nodes
from header_index import c_declarations
from header_text import is_drawing

_CODE = re.compile(r"`([^`]+)`")
_NAME = re.compile(r"\b(?:k?TVMFFI\w+|DL(?!L)[A-Z]?[a-z]\w+)(?:\.\w+)?")


@cache
def _linked_names() -> frozenset[str]:
    names: set[str] = set()
    for entry in c_declarations():
        names.add(entry.name)
        if entry.kind == "class":
            names |= {f"{entry.name}.{member.name}" for member in entry.members}
        if entry.kind == "enum":
            names |= {member.name for member in entry.members}
    return frozenset(names)


def escaped(text: str) -> str:
    """Return the text with all reStructuredText markup escaped."""
    return re.sub(r"([\\*_|`:])", r"\\\1", text)


def sentence(text: str) -> str:
    """Return the text with a capital first letter, unless its first word is a name."""
    return text[0].upper() + text[1:] if re.match(r"[a-z]+(?!\w|\.\w)", text) else text


def _linked(text: str) -> str:
    """Return the text with links from C names."""
    parts: list[str] = []
    end = 0
    for match in _NAME.finditer(text):
        if match[0] in _linked_names():
            parts += [escaped(text[end : match.start()]), rf"\ :c:type:`{match[0]}`\ "]
            end = match.end()
    return "".join(parts) + escaped(text[end:])


def rst_of(text: str) -> str:
    """Return the text of a comment as one line of reStructuredText."""
    parts = _CODE.split(re.sub(r"\s+", " ", text.strip()))
    shown = [_code(part) if index % 2 else _linked(part) for index, part in enumerate(parts)]
    return "".join(shown).strip()


def _code(text: str) -> str:
    if text in _linked_names():
        return rf"\ :c:type:`{text}`\ "
    return rf"\ ``{text.strip()}``\ "


def rst_of_paragraphs(paragraphs: list[str]) -> list[str]:
    """Return paragraphs as lines of reStructuredText; the lines of drawings are preserved."""
    lines: list[str] = []
    for paragraph in paragraphs:
        if is_drawing(paragraph):
            lines += [".. code-block:: text", "", *paragraph.splitlines(), ""]
            continue
        prose, _, drawing = _split_drawing(paragraph)
        lines += [rst_of(prose), ""]
        if drawing:
            lines += [".. code-block:: text", "", *drawing.splitlines(), ""]
    return lines


def _split_drawing(paragraph: str) -> tuple[str, str, str]:
    """Split a paragraph into its prose and the indented drawing that follows it."""
    rows = paragraph.splitlines()
    for index, row in enumerate(rows):
        if row.startswith("  ") and index and all(rest.startswith("  ") for rest in rows[index:]):
            return "\n".join(rows[:index]), "", "\n".join(rows[index:])
    return paragraph, "", ""


def as_prose(text: str) -> nodes.paragraph:
    """Return the text of a comment as a paragraph node; text in backticks becomes code."""
    paragraph = nodes.paragraph()
    for index, part in enumerate(_CODE.split(text)):
        paragraph += nodes.literal("", part) if index % 2 else nodes.Text(part)
    return paragraph
