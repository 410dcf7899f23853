# SPDX-License-Identifier: Apache-2.0
"""HTML tables for the notebook display (`_repr_html_`) of objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["table"]


def table(caption: str, rows: Iterable[Iterable[str]]) -> str:
    """Return an HTML table with a caption; special characters in cells are escaped."""
    from html import escape  # lazy import, because only notebooks need the module

    lines = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><caption>{escape(caption)}</caption>{body}</table>"
