# SPDX-License-Identifier: Apache-2.0
"""Shared mypy cache: NumPy, torch and this package are analysed once per test session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def mypy_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.getbasetemp()
    if folder.name.startswith("popen-"):  # a pytest-xdist worker; workers share the parent folder
        folder = folder.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MYPY_CACHE_DIR", str(folder / "mypy_cache"))
        yield
