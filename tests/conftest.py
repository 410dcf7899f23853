# SPDX-License-Identifier: Apache-2.0
"""Order of the test files, reasons to skip tests, files that are built once for all workers."""

from __future__ import annotations

import os
import shutil
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Callable

import pytest

BuildOnce = Callable[[str, Callable[[Path], None]], Path]

# Folders with files that take minutes, such as the build of the documentation.
LONG_FOLDERS = ("docs", "typing", "cpp", "examples", "conformance", "compat", "rust")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start long files first, so that no worker is idle while another one ends such a file."""

    def position(item: pytest.Item) -> int:
        folder = item.nodeid.removeprefix("tests/").partition("/")[0]
        return LONG_FOLDERS.index(folder) if folder in LONG_FOLDERS else len(LONG_FOLDERS)

    items.sort(key=position)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip tests that are meaningless with a sanitizer or a debug context in the process."""
    mark = item.get_closest_marker("unsanitized")
    if mark is not None and os.environ.get("TVM_FFI_TESTS_SANITIZED"):
        pytest.skip(f"under a sanitizer: {mark.args[0]}")
    mark = item.get_closest_marker("undebugged")
    if mark is not None and os.environ.get("TVM_FFI_DEBUG") in ("1", "not-finite"):
        pytest.skip(f"under TVM_FFI_DEBUG: {mark.args[0]}")


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
