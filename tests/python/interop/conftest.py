# SPDX-License-Identifier: Apache-2.0
"""Fixtures for the adapter tests: a library of kernels for torch, compiled once per session."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest

import tvm_ffi
from tvm_ffi import libinfo

SOURCE = Path(__file__).resolve().parent / "torch_kernels.c"


@pytest.fixture(scope="session")
def torch_library(build_once: Callable[..., Path]) -> Path:
    """Return the path of the compiled ``torch_kernels.c``."""

    def compile_it(folder: Path) -> None:
        command = [*shlex.split(os.environ.get("CC", "cc")), "-std=gnu11", "-O1", "-fPIC"]
        command += ["-Wall", "-Wextra", "-Werror", "-shared", str(SOURCE)]
        command += [f"-I{path}" for path in libinfo.include_paths()]
        subprocess.run([*command, "-o", str(folder / "torch_kernels.so")], check=True)

    return build_once("torch_kernels", compile_it) / "torch_kernels.so"


@pytest.fixture(scope="module")
def interop() -> Iterator[Any]:
    """Return the torch adapter; its operators are removed after the tests of a file."""
    torch = pytest.importorskip("torch")
    import tvm_ffi.interop.torch as adapter
    from tvm_ffi._binding.object import hooks
    from tvm_ffi.interop.torch import _dispatcher_fallback, _operators, _tracing

    _dispatcher_fallback.install_fallback()
    yield adapter
    hooks.fallback_call = lambda *_: NotImplemented  # its state before the adapter's import
    torch._dynamo.reset()
    for name in list(_operators._by_name):
        _operators.undefine(_operators._by_name[name])
        _replace_kernel(torch, name)
    for namespace in (_tracing._calls, _tracing._functions):
        vars(namespace).clear()


def _replace_kernel(torch: Any, name: str) -> None:
    """Release the function: torch keeps a name's last kernel after the kernel's library is gone."""
    namespace, _, short_name = name.partition("::")
    library = torch.library.Library(namespace, "FRAGMENT")
    library.define(f"{short_name}() -> ()")
    for key in ("CompositeExplicitAutograd", "CPU"):
        library.impl(short_name, lambda: None, key)


@pytest.fixture(scope="session", autouse=True)
def torch_functions(torch_library: Path) -> tvm_ffi.Module:
    """Return the module of the compiled ``torch_kernels.c``, loaded before objects are counted."""
    module = tvm_ffi.load_module(torch_library)
    module.get_function_signature("scaled")  # The call creates objects that the package caches.
    return module


@pytest.fixture(scope="module")
def functions(interop: Any, torch_functions: tvm_ffi.Module) -> tvm_ffi.Module:
    """Return the module `torch_functions` with the adapter loaded."""
    return torch_functions
