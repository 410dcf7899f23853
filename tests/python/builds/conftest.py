# SPDX-License-Identifier: Apache-2.0
"""Fixture for tests of builds: an empty cache for each test."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path, monkeypatch):
    for variable in (
        "CC",
        "CXX",
        "CPATH",
        "TVM_FFI_CACHE_PATH",
        "TVM_FFI_CPP_EXTENSION_PRECOMPILE",
    ):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "files").mkdir()
