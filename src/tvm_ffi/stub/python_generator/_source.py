# SPDX-License-Identifier: Apache-2.0
"""What the text around blocks of a Python file says."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from ..file_utils import CodeBlock
from .codegen import class_name

__all__ = ["classes_of", "place_of_imports"]

_CLASS = re.compile(r"(?P<margin>\s*)class\s+(?P<name>\w+)")


def classes_of(code_blocks: Sequence[CodeBlock]) -> dict[str, str]:
    """Return the names of the classes that ``object`` blocks stand in, by type key.

    A block outside of any class counts as the class that the last part of the key names.
    """
    return {
        str(block.param): _class_around(code_blocks[:i], block) or class_name(str(block.param))
        for i, block in enumerate(code_blocks)
        if block.kind == "object"
    }


def _class_around(before: Sequence[CodeBlock], block: CodeBlock) -> str | None:
    """Return the class of the nearest ``class`` line with less indentation than the block."""
    for line in _lines_upwards(before):
        margin = line[: len(line) - len(line.lstrip())]
        if len(margin) >= len(block.margin) or not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _CLASS.match(line)
        return match["name"] if match else None
    return None


def _lines_upwards(code_blocks: Sequence[CodeBlock]) -> Iterator[str]:
    for block in reversed(code_blocks):
        if block.kind is None:
            yield from reversed(block.lines)


def place_of_imports(lines: Sequence[str]) -> int:
    """Return the index of the line before which ``from __future__`` imports may stand."""
    try:
        tree = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError):
        tree = ast.Module(body=[], type_ignores=[])
    place = 0
    while place < len(lines) and lines[place].startswith("#"):
        place += 1
    for statement in tree.body:
        is_docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if not (is_docstring or is_future):
            break
        place = statement.end_lineno or place
    return place
