# SPDX-License-Identifier: Apache-2.0
"""The directive ``c-functions``: the functions that a C header declares, by its sections.

    ```{c-functions} tvm/ffi/c_api.h
    ```

A section begins with a comment ``/* ---- TITLE ---- ...``.  What is shown of a function is the
first sentence of the comment in front of it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from c_headers import as_prose
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

_INCLUDE = Path(__file__).resolve().parents[2] / "include"
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_TITLE = re.compile(r"/\* ---- (.+?) -+\s")
_DECLARATION = re.compile(r"\s*(TVM_FFI_DLL [^;{]*?\b(TVMFFI\w+)\([^;{]*\))")


def functions_of(header: Path) -> dict[str, list[tuple[str, str]]]:
    """Return the name and the first sentence of each function, by title of its section."""
    text = header.read_text(encoding="utf-8")
    sections: dict[str, list[tuple[str, str]]] = {}
    title = ""
    for comment in _COMMENT.finditer(text):
        if heading := _TITLE.match(comment[0]):
            title = heading[1]
        elif declaration := _DECLARATION.match(text, comment.end()):
            sections.setdefault(title, []).append((declaration[2], _first_sentence(comment[0])))
    return sections


def _first_sentence(comment: str) -> str:
    lines = [line.strip().removeprefix("*").strip() for line in comment[2:-2].splitlines()]
    paragraph = " ".join(lines).strip() if "" not in lines else " ".join(lines[: lines.index("")])
    return re.split(r"(?<=\.)\s+(?=[A-Z])", re.sub(r"\s+", " ", paragraph))[0]


class CFunctions(SphinxDirective):
    """See the module."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return a paragraph that names the header, and a list for each of its sections."""
        header = _INCLUDE / self.arguments[0]
        self.env.note_dependency(__file__)
        self.env.note_dependency(str(header))
        shown: list[nodes.Node] = [
            nodes.paragraph("", "", nodes.literal("", f"<{self.arguments[0]}>"))
        ]
        for title, functions in functions_of(header).items():
            shown += [nodes.rubric("", title), self._list(functions)]
        return shown

    @staticmethod
    def _list(functions: list[tuple[str, str]]) -> nodes.definition_list:
        items = nodes.definition_list()
        for name, sentence in functions:
            term = nodes.term("", "", nodes.literal("", name))
            definition = nodes.definition("", as_prose(sentence))
            items += nodes.definition_list_item("", term, definition)
        return items


def setup(app: Any) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("c-functions", CFunctions)
    return {"parallel_read_safe": True}
