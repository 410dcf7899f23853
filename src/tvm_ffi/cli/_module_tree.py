# SPDX-License-Identifier: Apache-2.0
"""Text output of the import tree of embedded modules.

The library is untrusted, so the length of the output is proportional to the size of its data: names
of module kinds are truncated, the imports of a module with several importers are printed once, and
a subtree below the maximum indentation continues at the left margin.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from ..inspection import ModuleReport

__all__ = ["module_lines"]

# Prefixes of tree lines: blank, vertical line, branch before a sibling, last branch.
_GUIDES = ("    ", "│   ", "├── ", "└── ")
_ASCII_GUIDES = ("    ", "|   ", "+-- ", "`-- ")
_MAX_INDENT = 16 * len(_GUIDES[0])
_MAX_NAME = 100


def module_lines(modules: Sequence[ModuleReport], *, is_ascii: bool = False) -> Iterator[str]:
    """Yield the lines of the tree, whose root is the module that loading the library returns."""
    blank, line, branch, last = _ASCII_GUIDES if is_ascii else _GUIDES
    opened: set[int] = set()
    deferred = {0} if modules else set()
    tops = deque(deferred)  # indices of the modules whose subtrees begin at the left margin
    while tops:
        top = tops.popleft()
        deferred.remove(top)
        pending = [(top, "", "")]
        while pending:
            index, mark, indent = pending.pop()
            imports = modules[index].imports
            is_new = index not in opened and index not in deferred
            if is_new and imports and len(indent) == _MAX_INDENT:
                deferred.add(index)
                tops.append(index)
            where = "above" if index in opened else "below" if index in deferred else ""
            yield mark + _label(index, modules[index]) + (f" (see {where})" if where else "")
            if not where:
                opened.add(index)
                below = [(child, indent + branch, indent + line) for child in imports[:-1]]
                below += [(child, indent + last, indent + blank) for child in imports[-1:]]
                pending += reversed(below)


def _label(index: int, module: ModuleReport) -> str:
    kind = module.kind if len(module.kind) <= _MAX_NAME else f"{module.kind[:_MAX_NAME]}..."
    size = "" if module.size_bytes is None else f", {module.size_bytes:,} bytes"
    loader = module.loader or ""
    missing = f", no loader: import the package that registers {loader[:_MAX_NAME]}"
    return f"{index}: {kind}{size}{'' if module.has_loader else missing}"
