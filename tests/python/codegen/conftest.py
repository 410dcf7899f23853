# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of generated wrappers: build cache, C compiler and printers."""

from __future__ import annotations

import shutil

import pytest

from .printers import CHECKERS, PRINTERS


@pytest.fixture(scope="session", autouse=True)
def cache_of_wrappers(tmp_path_factory):
    """Use an empty build cache instead of the user's build cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TVM_FFI_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def c_compiler() -> str:
    """Return the C compiler; skip tests that need a C compiler if there is none."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler is installed")
    return compiler


@pytest.fixture(scope="module", params=PRINTERS)
def printer(request) -> str:
    """Return the name of a printer (C or LLVM); each test runs with every printer."""
    if request.param == "llvm":
        pytest.importorskip("llvmlite")
    return request.param


@pytest.fixture(scope="module", params=CHECKERS)
def checker(request) -> str:
    """Return the name of a printer, or ``engine``, for tests of checks."""
    if request.param == "llvm":
        pytest.importorskip("llvmlite")
    return request.param
