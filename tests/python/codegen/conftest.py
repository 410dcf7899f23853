# SPDX-License-Identifier: Apache-2.0
"""A cache for what these tests build, and libraries that many of them share."""

from __future__ import annotations

import shutil

import pytest

CC = shutil.which("cc")


def pytest_collection_modifyitems(items):
    """Skip what needs a compiler where there is none."""
    if CC is None:
        for item in items:
            if "codegen" in str(item.path) and "library" in item.fixturenames:
                item.add_marker(pytest.mark.skip(reason="no C compiler"))


@pytest.fixture(scope="session", autouse=True)
def cache_of_wrappers(tmp_path_factory):
    """Keep what is built out of the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TVM_FFI_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield
