# SPDX-License-Identifier: Apache-2.0
"""Builds in a folder that the caller names (`build_directory`), always with ninja.

Ninja decides by modification times which outputs are out of date.  The build cache is not used.
"""

from __future__ import annotations

from pathlib import Path

from ._command import build_log, warn_of
from ._files import file_lock, has_content, write_if_changed
from ._key import cache_key
from ._ninja import NINJA_FILE, announce_ninja, ninja_text, output_of_commands, run_ninja
from ._permissions import check_build_entries, make_build_folder
from ._progress import progress_line
from ._recipe import Recipe, only_compiler

__all__ = ["build_in_folder"]

_NINJA_STATE = (".ninja_log", ".ninja_deps", ".ninja_lock")
_LOCK_FILE = "lock"


def build_in_folder(recipe: Recipe, folder: Path, is_verbose: bool = False) -> Path:
    """Build the outdated files in a folder while holding its lock; return the product's path."""
    make_build_folder(folder)
    names = {_LOCK_FILE, NINJA_FILE, *_NINJA_STATE, *recipe.files}
    for step in recipe.steps:
        names.update((*step.inputs, step.output, step.depfile))
    check_build_entries(folder, names)
    with build_log(is_verbose), file_lock(folder / _LOCK_FILE, 0o644):
        files = {**recipe.files, NINJA_FILE: ninja_text(recipe.steps)}
        changed = [name for name, text in files.items() if not has_content(folder / name, text)]
        reasons = [f"file {folder / name}: content changed" for name in changed]
        announce_ninja(recipe.name, folder, reasons, lambda: cache_key(recipe).digest)
        for name, content in files.items():
            write_if_changed(folder / name, content)
        with progress_line(f"building {recipe.name}"):
            output = run_ninja(folder, only_compiler(recipe.steps))
    warn_of(recipe.name, output_of_commands(output, recipe.steps))
    return folder / recipe.product
