# SPDX-License-Identifier: Apache-2.0
"""The ``prefix`` directive: one block for every type that is registered under a prefix."""

from __future__ import annotations

from .blocks import CodeBlock, split_blocks
from .registered import toposort_objects
from .source_file import FileInfo
from .target import Generator
from .terminal import TERM_YELLOW, print_line

__all__ = ["add_and_remove_blocks", "prefix_of"]


def prefix_of(file: FileInfo) -> str | None:
    """Return the prefix in a file's ``prefix`` directive, or None if the file has no directive."""
    found = [block for block in file.code_blocks if _is_directive(block, "prefix")]
    if len(found) > 1:
        raise ValueError(f"more than one `prefix` directive (line {found[1].lineno_start})")
    return found[0].param[1].rstrip(".") if found else None


def add_and_remove_blocks(
    file: FileInfo, prefix: str, type_keys: list[str], generator: Generator
) -> None:
    """Add blocks for new types, and remove blocks of types that are no longer registered.

    Each removal is printed.  A prefix without registered types is printed, too.
    """
    blocks = file.code_blocks
    skipped = {block.param[1] for block in blocks if _is_directive(block, "skip")}
    wanted = [key for key in type_keys if key not in skipped and not generator.is_builtin(key)]
    if not wanted:
        print_line(f"[Skipped] No registered object under prefix `{prefix}`", TERM_YELLOW)
    _remove_blocks(file, prefix, set(type_keys))
    present = {block.param for block in blocks if block.kind == "object"}
    missing = [key for key in wanted if key not in present]
    if not missing:
        return
    index = _insertion_index(file, prefix)
    in_order = [str(info.type_key) for info in toposort_objects(missing)]
    blocks[index:index] = [
        block for key in in_order for block in _new_blocks(file, f"object/{key}")
    ]


def _is_directive(block: CodeBlock, name: str) -> bool:
    return block.kind == "directive" and block.param[0] == name


def _remove_blocks(file: FileInfo, prefix: str, type_keys: set[str]) -> None:
    """Remove blocks of types that are not in `type_keys`, with the empty line before each block."""
    kept: list[CodeBlock] = []
    for block in file.code_blocks:
        key = str(block.param)
        has_prefix = block.kind == "object" and key.rpartition(".")[0] == prefix
        if has_prefix and key not in type_keys:
            where = f'File "{file.path}": `object/{key}` (line {block.lineno_start})'
            print_line(f"[Removed] {where}: the type is no longer registered", TERM_YELLOW)
            if kept and kept[-1].kind is None and not kept[-1].lines[0].strip():
                kept.pop()
        else:
            kept.append(block)
    file.code_blocks[:] = kept


def _insertion_index(file: FileInfo, prefix: str) -> int:
    """Return where to insert blocks: after the last block of the prefix, else after the imports."""
    blocks = file.code_blocks
    last = imports = directive = None
    for i, block in enumerate(blocks):
        if block.kind == "object" and str(block.param).rpartition(".")[0] == prefix:
            last = i
        elif block.kind == "import-section" and imports is None:
            imports = i
        elif _is_directive(block, "prefix"):
            directive = i
    assert directive is not None
    if imports is None:
        section = _new_blocks(file, "import-section")
        blocks[directive + 1 : directive + 1] = section
        imports = directive + len(section)
        if last is not None and last > directive:
            last += len(section)
    return (imports if last is None else last) + 1


def _new_blocks(file: FileInfo, kind: str) -> list[CodeBlock]:
    """Return an empty line and a block without content; line numbers 0 mark them as new."""
    blocks = split_blocks(["", *file.syntax.empty_block(kind)], file.syntax)
    for block in blocks:
        block.lineno_start = block.lineno_end = 0
    return blocks
