# SPDX-License-Identifier: Apache-2.0
"""Context of a block in a Python file: the class that contains it, and where to insert imports."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from ..blocks import CodeBlock
from .package_files import class_name

__all__ = ["classes_of", "import_section_index"]

_CLASS = re.compile(r"(?P<margin>\s*)class\s+(?P<name>\w+)")


def classes_of(code_blocks: Sequence[CodeBlock]) -> dict[str, str]:
    """Return the names of the classes that contain ``object`` blocks, by type key.

    For a block outside of a class, the name is derived from the type key.
    """
    return {
        str(block.param): _enclosing_class(code_blocks[:i], block) or class_name(str(block.param))
        for i, block in enumerate(code_blocks)
        if block.kind == "object"
    }


def _enclosing_class(before: Sequence[CodeBlock], block: CodeBlock) -> str | None:
    """Return the name of the class whose body contains a block, or None; indentation decides."""
    for line in _reversed_lines(before):
        margin = line[: len(line) - len(line.lstrip())]
        if len(margin) >= len(block.margin) or not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _CLASS.match(line)
        return match["name"] if match else None
    return None


def _reversed_lines(code_blocks: Sequence[CodeBlock]) -> Iterator[str]:
    for block in reversed(code_blocks):
        if block.kind is None:
            yield from reversed(block.lines)


def import_section_index(lines: Sequence[str]) -> int:
    """Return the index of the first line before which ``from __future__`` imports are allowed."""
    try:
        tree = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError):
        tree = ast.Module(body=[], type_ignores=[])
    index = 0
    while index < len(lines) and lines[index].startswith("#"):
        index += 1
    for statement in tree.body:
        is_docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if not (is_docstring or is_future):
            break
        index = statement.end_lineno or index
    return index
