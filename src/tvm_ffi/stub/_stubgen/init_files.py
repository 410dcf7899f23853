# SPDX-License-Identifier: Apache-2.0
"""New packages (``--init-*``): for every prefix, a folder with an API file and a package file.

Blocks and classes that an existing file does not contain are appended to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Callable

from .blocks import CodeBlock, is_skipped, split_blocks
from .options import InitConfig
from .pipeline import Run
from .registered import toposort_objects
from .source_file import FileInfo
from .text_file import TextFile

__all__ = ["init_files", "prefixes_below"]

# A function that returns the text to append to a file, given the blocks of the file.
_MissingText = Callable[[list[CodeBlock]], str]


def prefixes_below(run: Run, prefix: str) -> list[str]:
    """Return the prefixes that get files: the root prefix, and those of functions or types.

    Only prefixes below `prefix` count.  The result is empty if nothing is registered there.
    """
    root = prefix.rstrip(".")
    known = {
        name
        for name, keys in run.registered.type_keys.items()
        if not all(map(run.generator.is_builtin, keys))
    }
    if run.generator.writes_functions:
        known |= set(run.registered.funcs)
    below = {name for name in known if name == root or name.startswith(f"{root}.")}
    return sorted(below | {root}) if below else []


def init_files(run: Run, folder: Path, init_cfg: InitConfig) -> list[FileInfo]:
    """Return the files of all prefixes below `folder`; blocks added to the files are empty."""
    root = init_cfg.prefix.rstrip(".")
    files = []
    for prefix in prefixes_below(run, root):
        package = folder.absolute().joinpath(*prefix.split("."))
        for path, missing_text in _files_of_prefix(run, package, prefix, root, init_cfg):
            file = run.guarded(path, partial(_extended_file, run, path, missing_text))
            if file is not None:
                files.append(file)
    return files


def _files_of_prefix(
    run: Run, package: Path, prefix: str, root: str, init_cfg: InitConfig
) -> Iterator[tuple[Path, _MissingText]]:
    """Yield the paths of the files of a prefix, each with the function for its missing text."""
    generator = run.generator
    keys = [
        key for key in run.registered.type_keys.get(prefix, ()) if not generator.is_builtin(key)
    ]

    def api_text(blocks: list[CodeBlock]) -> str:
        infos = toposort_objects(keys)
        ty_map = generator.default_ty_map()
        return generator.generate_api_file(blocks, ty_map, prefix, infos, init_cfg, prefix == root)

    def package_text(blocks: list[CodeBlock]) -> str:
        submodule = Path(generator.api_filename()).stem
        return generator.generate_init_file(blocks, prefix, submodule)

    yield package / generator.api_filename(), api_text
    if generator.init_filename() != generator.api_filename():
        yield package / generator.init_filename(), package_text


def _extended_file(run: Run, path: Path, missing_text: _MissingText) -> FileInfo | None:
    """Return a file with its missing text appended in memory; None if it has ``skip-file``."""
    syntax = run.generator.syntax
    source = TextFile.read(path) if path.exists() else TextFile(path)
    if is_skipped(source.texts, syntax):
        return None
    lines = list(source.texts)
    blocks = split_blocks(lines, syntax)
    if lines and path.name == run.generator.api_filename():
        lines = _with_import_section(run, lines, blocks)
        blocks = split_blocks(lines, syntax)
    added = missing_text(blocks)
    if added and lines and lines[-1].strip():
        lines.append("")
    lines += added.splitlines()
    return FileInfo(path, source.texts, split_blocks(lines, syntax), syntax, source)


def _with_import_section(run: Run, lines: list[str], blocks: list[CodeBlock]) -> list[str]:
    """Return lines with an import section, at the first line where imports are allowed."""
    if any(block.kind == "import-section" for block in blocks):
        return lines
    index = run.generator.import_section_index(lines)
    section = [*run.generator.syntax.empty_block("import-section"), ""]
    return [*lines[:index], *([""] if index else []), *section, *lines[index:]]
