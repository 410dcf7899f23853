# SPDX-License-Identifier: Apache-2.0
"""Sphinx directive ``c-headers``: a list of headers with their descriptions.

    ```{c-headers}
    tvm/ffi/function.h
    tvm/ffi/container/
    ```

A line names a header, or a folder: all its headers that no directive of the page names otherwise.
The description is the first paragraph of the header's leading comment.  Headers that are part of
another header (``*_detail.h``, ``internal/``) are omitted.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from header_index import INCLUDE, public_headers, source_of
from header_prose import as_prose
from sphinx.util.docutils import SphinxDirective

_NAMED = re.compile(r"^```\{c-headers\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def first_paragraph(header: str) -> str:
    """Return the first paragraph of a header's leading comment."""
    return re.sub(r"\s+", " ", next(iter(source_of(header).leading_paragraphs()), ""))


class CHeaders(SphinxDirective):
    """Directive ``c-headers``, see the module."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return a definition list."""
        self.env.note_dependency(__file__)
        rows = [name for line in self.content if line for name in self._headers(line)]
        items = nodes.definition_list()
        for name in rows:
            path = INCLUDE / name
            if not path.is_file():
                raise self.error(f"header not found: {name}")
            self.env.note_dependency(str(path))
            term = nodes.term("", "", nodes.literal("", f"<{name}>"))
            definition = nodes.definition("", as_prose(first_paragraph(name)))
            items += nodes.definition_list_item("", term, definition)
        return [items]

    def _headers(self, line: str) -> list[str]:
        if not line.endswith("/"):
            return [line]
        page = Path(self.env.doc2path(self.env.docname)).read_text(encoding="utf-8")
        named = {name for block in _NAMED.findall(page) for name in block.split()}
        folders = sorted((entry for entry in named if entry.endswith("/")), key=len, reverse=True)
        rest = [name for name in public_headers() if name not in named]
        return [
            name
            for name in rest
            if next((folder for folder in folders if name.startswith(folder)), None) == line
        ]


def setup(app: Any) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("c-headers", CHeaders)
    return {"parallel_read_safe": True}
