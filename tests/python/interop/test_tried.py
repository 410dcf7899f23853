# SPDX-License-Identifier: Apache-2.0
"""What adapters say of software that is missing, or of a version that nobody tried."""

from __future__ import annotations

import sys
import warnings
from types import ModuleType

import pytest

from tvm_ffi.interop._tried import UntriedVersionWarning, load


@pytest.fixture
def framework(monkeypatch):
    """Return a function that installs a framework of a version."""

    def install(version):
        module = ModuleType("framework_of_test")
        module.__version__ = version
        monkeypatch.setitem(sys.modules, "framework_of_test", module)
        return module

    return install


@pytest.mark.parametrize("version", ["1.9", "1.9.1", "1.10.0", "2.0", "2.0.7", "2.0.0+cpu"])
def test_a_version_that_was_tried_is_imported_in_silence(framework, version):
    module = framework(version)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load("framework_of_test", "1.9", "2.0.1") is module


@pytest.mark.parametrize("version", ["1.8.9", "2.1.0", "10.0", "2.1.0rc1"])
def test_another_version_is_named_in_a_warning_at_the_caller(framework, version):
    module = framework(version)
    with pytest.warns(UntriedVersionWarning, match="versions from 1.9 to 2.0.1 were") as caught:
        assert load("framework_of_test", "1.9", "2.0.1") is module
    assert f"framework_of_test {version} was not tried" in str(caught[0].message)


def test_missing_software_is_an_import_error_that_says_what_to_install():
    with pytest.raises(ModuleNotFoundError, match=r"needs no-such: pip install 'no-such'") as got:
        load("no_such_framework.part", "1", "2", distribution="no-such")
    assert got.value.name == "no_such_framework"
    with pytest.raises(ImportError, match=r"pip install 'pytvmffi\[some\]'"):
        load("no_such_framework", "1", "2", extra="some")


def test_software_that_misses_something_itself_says_so(tmp_path, monkeypatch):
    (tmp_path / "broken_framework.py").write_text("import no_such_dependency\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_dependency"):
        load("broken_framework", "1", "2")


def test_software_without_a_version_is_not_judged(framework):
    module = framework(None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load("framework_of_test", "1", "2") is module
