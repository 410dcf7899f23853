# SPDX-License-Identifier: Apache-2.0
"""Errors for frameworks that are not installed, and warnings for versions that were not tested."""

from __future__ import annotations

import sys
import warnings
from types import ModuleType

import pytest

from tvm_ffi.interop._versions import UntriedVersionWarning, load


@pytest.fixture
def framework(monkeypatch):
    """Return a function that installs a framework with a given version."""

    def install(version):
        module = ModuleType("framework_of_test")
        module.__version__ = version
        monkeypatch.setitem(sys.modules, "framework_of_test", module)
        return module

    return install


@pytest.mark.parametrize("version", ["1.9", "1.9.1", "1.10.0", "2.0", "2.0.7", "2.0.0+cpu"])
def test_tested_version_is_imported_without_a_warning(framework, version):
    module = framework(version)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load("framework_of_test", "1.9", "2.0.1") is module


@pytest.mark.parametrize("version", ["1.8.9", "2.1.0", "10.0", "2.1.0rc1"])
def test_untested_version_is_named_in_a_warning_at_the_caller(framework, version):
    module = framework(version)
    with pytest.warns(UntriedVersionWarning, match=r"tested versions: 1\.9 to 2\.0\.1") as caught:
        assert load("framework_of_test", "1.9", "2.0.1") is module
    assert f"framework_of_test {version} was not tested" in str(caught[0].message)


def test_error_for_a_missing_framework_names_the_package_to_install():
    with pytest.raises(
        ModuleNotFoundError, match=r"needs the package no-such: pip install 'no-such'"
    ) as got:
        load("no_such_framework.part", "1", "2", distribution="no-such")
    assert got.value.name == "no_such_framework"
    with pytest.raises(ImportError, match=r"pip install 'pytvmffi\[some\]'"):
        load("no_such_framework", "1", "2", extra="some")


def test_error_for_a_missing_dependency_of_a_framework_is_unchanged(tmp_path, monkeypatch):
    (tmp_path / "broken_framework.py").write_text("import no_such_dependency\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_dependency"):
        load("broken_framework", "1", "2")


def test_framework_without_a_version_is_imported_without_a_warning(framework):
    module = framework(None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load("framework_of_test", "1", "2") is module
