# SPDX-License-Identifier: Apache-2.0
"""Links from pages to files of the repository outside of ``docs``.

They work for readers of the repository.  The site contains only the pages, so there the link is
replaced by the path of the file.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_LINK = re.compile(r"\[([^\]]+)\]\((\.\./[^)#]+)\)")


def name_files(app: Any, name: str, source: list[str]) -> None:
    """Replace links to files outside of ``docs`` by text."""
    folder = Path(app.env.doc2path(name)).parent

    def replace(link: re.Match[str]) -> str:
        target = (folder / link[2]).resolve()
        if target.is_relative_to(app.srcdir):
            return link[0]
        if not target.exists():
            raise FileNotFoundError(f"{name}: broken link to {link[2]}")
        return f"{link[1]} (`{target.relative_to(Path(app.srcdir).parent)}`)"

    source[0] = _LINK.sub(replace, source[0])


def setup(app: Any) -> dict[str, bool]:
    """Register the event handler."""
    app.connect("source-read", name_files)
    return {"parallel_read_safe": True}
