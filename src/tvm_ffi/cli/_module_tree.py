# SPDX-License-Identifier: Apache-2.0
"""The modules that a library embeds, as lines of text that show what imports what.

The library may come from anywhere, and the lines are in proportion to its bytes: names are cut, a
module that several import is opened once, and what is deep goes on at the margin, because
indenting a chain by its length would take the square of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from ..inspection import ModuleReport

__all__ = ["module_lines"]

# Nothing above, something above; another one behind it, the last one.
_GUIDES = ("    ", "│   ", "├── ", "└── ")
_ASCII_GUIDES = ("    ", "|   ", "+-- ", "`-- ")
_MAX_INDENT = 16 * len(_GUIDES[0])
_MAX_NAME = 100


def module_lines(modules: Sequence[ModuleReport], *, is_ascii: bool = False) -> Iterator[str]:
    """Yield the lines; the first module is the one that loading returns."""
    blank, line, branch, last = _ASCII_GUIDES if is_ascii else _GUIDES
    opened: set[int] = set()
    put_off = {0} if modules else set()
    tops = deque(put_off)  # what begins at the margin
    while tops:
        top = tops.popleft()
        put_off.remove(top)
        pending = [(top, "", "")]
        while pending:
            index, mark, indent = pending.pop()
            imports = modules[index].imports
            is_new = index not in opened and index not in put_off
            if is_new and imports and len(indent) == _MAX_INDENT:
                put_off.add(index)
                tops.append(index)
            where = "above" if index in opened else "below" if index in put_off else ""
            yield mark + _label(index, modules[index]) + (f" (see {where})" if where else "")
            if not where:
                opened.add(index)
                below = [(child, indent + branch, indent + line) for child in imports[:-1]]
                below += [(child, indent + last, indent + blank) for child in imports[-1:]]
                pending += reversed(below)


def _label(index: int, module: ModuleReport) -> str:
    kind = module.kind if len(module.kind) <= _MAX_NAME else f"{module.kind[:_MAX_NAME]}..."
    size = "" if module.size_bytes is None else f", {module.size_bytes:,} bytes"
    return f"{index}: {kind}{size}"
