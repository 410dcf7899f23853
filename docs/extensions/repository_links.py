# SPDX-License-Identifier: Apache-2.0
"""Links from the documents to other files of the repository.

They work where the repository is read.  The site holds the documents only, so there the name of the
file takes their place.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_LINK = re.compile(r"\[([^\]]+)\]\((\.\./[^)#]+)\)")


def name_files(app: Any, name: str, source: list[str]) -> None:
    """Replace links that leave the folder of the documents by text."""
    folder = Path(app.env.doc2path(name)).parent

    def replace(link: re.Match[str]) -> str:
        target = (folder / link[2]).resolve()
        if target.is_relative_to(app.srcdir):
            return link[0]
        if not target.exists():
            raise FileNotFoundError(f"{name}: the link to {link[2]} leads nowhere")
        return f"{link[1]} (`{target.relative_to(Path(app.srcdir).parent)}`)"

    source[0] = _LINK.sub(replace, source[0])


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("source-read", name_files)
    return {"parallel_read_safe": True}
