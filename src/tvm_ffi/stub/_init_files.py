# SPDX-License-Identifier: Apache-2.0
"""``--init-*``: a folder for every prefix, with a file of stubs and a package file.

Files that exist are extended by what they lack; nothing of theirs is replaced.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Callable

from . import lib_state
from ._pipeline import Run
from ._text_file import TextFile
from .file_utils import CodeBlock, FileInfo, is_skipped, split_blocks
from .utils import InitConfig

__all__ = ["init_files", "prefixes_below"]

# Tells what a file lacks that has these blocks.
_Missing = Callable[[list[CodeBlock]], str]


def prefixes_below(run: Run, prefix: str) -> list[str]:
    """Return the prefixes that get files: those with functions or types, and the root.

    The result is empty when nothing is registered.
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
    """Return the files of all prefixes, extended but not yet filled.

    Parameters
    ----------
    run : Run
        Takes failures.
    folder : Path
        Where the packages lie.
    init_cfg : InitConfig
        What to write.
    """
    root = init_cfg.prefix.rstrip(".")
    files = []
    for prefix in prefixes_below(run, root):
        path = folder.absolute().joinpath(*prefix.split("."))
        for file_path, text_for in _texts(run, path, prefix, root, init_cfg):
            made = run.guarded(file_path, partial(_extended, run, file_path, text_for))
            if made is not None:
                files.append(made)
    return files


def _texts(
    run: Run, path: Path, prefix: str, root: str, init_cfg: InitConfig
) -> Iterator[tuple[Path, _Missing]]:
    """Return the files of a prefix, each with a function that tells what it lacks."""
    generator = run.generator
    keys = [
        key for key in run.registered.type_keys.get(prefix, ()) if not generator.is_builtin(key)
    ]

    def api(blocks: list[CodeBlock]) -> str:
        infos = lib_state.toposort_objects(keys)
        ty_map = generator.default_ty_map()
        return generator.generate_api_file(blocks, ty_map, prefix, infos, init_cfg, prefix == root)

    def package(blocks: list[CodeBlock]) -> str:
        submodule = Path(generator.api_filename()).stem
        return generator.generate_init_file(blocks, prefix, submodule)

    yield path / generator.api_filename(), api
    if generator.init_filename() != generator.api_filename():
        yield path / generator.init_filename(), package


def _extended(run: Run, path: Path, missing: _Missing) -> FileInfo | None:
    """Return a file with what it lacked, in memory; None if it asks to be left alone."""
    syntax = run.generator.syntax
    source = TextFile.read(path) if path.exists() else TextFile(path)
    if is_skipped(source.texts, syntax):
        return None
    lines = list(source.texts)
    blocks = split_blocks(lines, syntax)
    if lines and path.name == run.generator.api_filename():
        lines = _with_import_section(run, lines, blocks)
        blocks = split_blocks(lines, syntax)
    added = missing(blocks)
    if added and lines and lines[-1].strip():
        lines.append("")
    lines += added.splitlines()
    return FileInfo(path, source.texts, split_blocks(lines, syntax), syntax, source)


def _with_import_section(run: Run, lines: list[str], blocks: list[CodeBlock]) -> list[str]:
    """Return lines with an import section where the language allows imports."""
    if any(block.kind == "import-section" for block in blocks):
        return lines
    syntax = run.generator.syntax
    place = run.generator.place_of_imports(lines)
    section = [f"{syntax.begin} import-section", syntax.end, ""]
    return [*lines[:place], *([""] if place else []), *section, *lines[place:]]
