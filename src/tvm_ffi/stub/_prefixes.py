# SPDX-License-Identifier: Apache-2.0
"""The ``prefix`` directive: a file has one block for every type registered under a prefix."""

from __future__ import annotations

from . import consts as C  # noqa: N812
from . import lib_state
from ._report import print_line
from .file_utils import CodeBlock, FileInfo
from .generator import Generator

__all__ = ["add_and_remove_blocks", "prefix_of"]


def prefix_of(file: FileInfo) -> str | None:
    """Return what the file's directive says.

    Raises
    ------
    ValueError
        If there are several.
    """
    found = [block for block in file.code_blocks if _is_directive(block, "prefix")]
    if len(found) > 1:
        raise ValueError(f"more than one `prefix` directive (line {found[1].lineno_start})")
    return found[0].param[1].rstrip(".") if found else None


def add_and_remove_blocks(
    file: FileInfo, prefix: str, type_keys: list[str], generator: Generator
) -> None:
    """Give a file its blocks; removals, and a prefix without types, are printed."""
    blocks = file.code_blocks
    skipped = {block.param[1] for block in blocks if _is_directive(block, "skip")}
    wanted = [key for key in type_keys if key not in skipped and not generator.is_builtin(key)]
    if not wanted:
        print_line(f"[Skipped] No registered object under prefix `{prefix}`", C.TERM_YELLOW)
    _remove(file, prefix, set(type_keys))
    present = {block.param for block in blocks if block.kind == "object"}
    missing = [key for key in wanted if key not in present]
    if not missing:
        return
    place = _place(file, prefix)
    in_order = [str(info.type_key) for info in lib_state.toposort_objects(missing)]
    added = [part for key in in_order for part in _new_block(file, f"object/{key}", key)]
    blocks[place:place] = added


def _is_directive(block: CodeBlock, name: str) -> bool:
    return block.kind == "directive" and block.param[0] == name


def _remove(file: FileInfo, prefix: str, type_keys: set[str]) -> None:
    """Take out the blocks of types that are gone, each with the empty line before it."""
    kept: list[CodeBlock] = []
    for block in file.code_blocks:
        key = str(block.param)
        is_ours = block.kind == "object" and key.rpartition(".")[0] == prefix
        if is_ours and key not in type_keys:
            where = f'File "{file.path}": `object/{key}` (line {block.lineno_start})'
            print_line(f"[Removed] {where}: the type is no longer registered", C.TERM_YELLOW)
            if kept and kept[-1].kind is None and not kept[-1].lines[0].strip():
                kept.pop()
        else:
            kept.append(block)
    file.code_blocks[:] = kept


def _place(file: FileInfo, prefix: str) -> int:
    """Return where new blocks go: behind the last of the prefix, else behind the imports."""
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
        new_section = _new_block(file, "import-section", "")
        blocks[directive + 1 : directive + 1] = new_section
        imports = directive + len(new_section)
        if last is not None and last > directive:
            last += len(new_section)
    return (imports if last is None else last) + 1


def _new_block(file: FileInfo, what: str, param: str) -> list[CodeBlock]:
    """Return an empty line and an empty block."""
    marker = f"{file.syntax.begin} {what}"
    block = CodeBlock.from_begin_line(0, marker, file.syntax)
    block.param, block.lineno_end = param, 0
    block.lines = [marker, file.syntax.end]
    return [CodeBlock(None, "", 0, 0, [""]), block]
