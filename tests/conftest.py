# SPDX-License-Identifier: Apache-2.0
"""Fixture for files that are built once per test run and shared by all pytest workers."""

from __future__ import annotations

import os
import shutil
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Callable

import pytest

BuildOnce = Callable[[str, Callable[[Path], None]], Path]


@pytest.fixture(scope="session")
def build_once(tmp_path_factory: pytest.TempPathFactory) -> BuildOnce:
    """Return a function that fills a folder of this run once, in the first worker that calls it."""
    base = tmp_path_factory.getbasetemp()
    is_worker = "PYTEST_XDIST_WORKER" in os.environ
    # The folder of a pytest worker is inside the folder of the test run.
    root = base.parent if is_worker else base

    def lock(name: str) -> AbstractContextManager[object]:
        if not is_worker:
            return nullcontext()  # machines of the device tests may lack filelock
        from filelock import FileLock

        return FileLock(root / f"{name}.lock")

    def build(name: str, fill: Callable[[Path], None]) -> Path:
        folder, complete = root / name, root / f"{name}.complete"
        with lock(name):
            if not complete.exists():
                shutil.rmtree(folder, ignore_errors=True)  # left by an earlier attempt that failed
                folder.mkdir()
                fill(folder)
                complete.touch()
        return folder

    return build
