# SPDX-License-Identifier: Apache-2.0
"""Fixtures for the lint tests: the repository and its files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Folders of built or downloaded files, which are left out, as are hidden folders other than .ci.
NOT_OURS = {"build", "dist", "__pycache__"}


@pytest.fixture(scope="session")
def repository() -> Path:
    """Return the root of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def files() -> list[Path]:
    """Return all hand-written files, as paths relative to the root of the repository."""
    return sorted(path.relative_to(ROOT) for path in _walk(ROOT))


def _walk(root: Path) -> Iterator[Path]:
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = [name for name in subfolders if _is_ours(Path(folder, name))]
        yield from (Path(folder, name) for name in names)


def _is_ours(folder: Path) -> bool:
    if (folder / "pyvenv.cfg").exists():  # a virtual environment, whatever its folder is called
        return False
    return folder.name == ".ci" or not (folder.name in NOT_OURS or folder.name.startswith("."))
