# SPDX-License-Identifier: Apache-2.0
"""The hook for PyInstaller, with a fake PyInstaller; tests/systems freezes a program."""

from __future__ import annotations

import pkgutil
import runpy
import sys
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

import pytest

import tvm_ffi


def collect_submodules(package, filter):  # noqa: A002  (the name in PyInstaller)
    """Return the names of all modules in a package, as PyInstaller's function does."""
    path = [str(Path(tvm_ffi.__file__).parent)]
    found = [package]
    pending = [(path, package)]
    while pending:
        folders, prefix = pending.pop()
        for module in pkgutil.iter_modules(folders, f"{prefix}."):
            if filter(module.name):
                found.append(module.name)
                if module.ispkg:
                    folder = Path(folders[0]) / module.name.rpartition(".")[2]
                    pending.append(([str(folder)], module.name))
    return found


@pytest.fixture
def hook(monkeypatch):
    """Return the names that the hook defines; the entry point of the package names its folder."""
    hooks = ModuleType("PyInstaller.utils.hooks")
    hooks.collect_submodules = collect_submodules
    hooks.collect_data_files = lambda package, includes: includes
    monkeypatch.setitem(sys.modules, hooks.__name__, hooks)
    for name in ("PyInstaller", "PyInstaller.utils"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    found = entry_points()
    group = (
        found.select(group="pyinstaller40")
        if hasattr(found, "select")
        else found.get("pyinstaller40", ())
    )
    (entry,) = (entry for entry in group if entry.value.startswith("tvm_ffi."))
    (folder,) = entry.load()()
    return runpy.run_path(f"{folder}/hook-tvm_ffi.py")


def test_all_modules_of_the_binding_are_collected(hook):
    """Regression: PyInstaller does not see what compiled modules import."""
    folder = Path(tvm_ffi.__file__).parent / "_binding"
    compiled = {f"tvm_ffi._binding.{path.parent.name}" for path in folder.glob("*/__init__.*.so")}
    assert "tvm_ffi._binding.convert" in compiled
    assert compiled <= set(hook["hiddenimports"])


def test_other_packages_are_not_collected(hook):
    names = hook["hiddenimports"]
    assert "tvm_ffi.codegen.c" in names
    assert [name for name in names if name.startswith(("tvm_ffi.interop", "tvm_ffi.cli"))] == []
    assert [name for name in names if "llvm" in name] == []
    assert "torch" in hook["excludedimports"]
