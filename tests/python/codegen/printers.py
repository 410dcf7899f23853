# SPDX-License-Identifier: Apache-2.0
"""The printers of wrappers, each as what builds a library of them and of C that stands beside."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tvm_ffi
from tvm_ffi import cpp
from tvm_ffi.codegen import c

PRINTERS = ("c", "llvm")


class Built:
    """Wrappers, and functions of C beside them.

    Parameters
    ----------
    module : Module
        The wrappers.
    path : path
        A library with them.
    beside : Module
        Functions of the ABI that are written in C.
    plain : ctypes.CDLL
        The functions behind the wrappers.
    """

    def __init__(self, module: Any, path: Path, beside: Any, plain: ctypes.CDLL) -> None:
        self.module, self.path, self.beside, self.plain = module, path, beside, plain

    def __getattr__(self, name: str) -> Any:
        try:
            return self.module.get_function(name)
        except AttributeError:
            return self.beside.get_function(name)


def built(
    printer: str, name: str, wrappers: Any, texts: Any, folder: Path, **options: Any
) -> Iterator[Built]:
    """Yield wrappers, made by a printer, of functions that stand in texts of C.

    They go with the fixture, although pytest keeps what it gave to the last test.
    """
    make = {"c": _build_c, "llvm": _build_llvm}[printer]
    made = make(name, list(wrappers), list(texts), folder, **options)
    yield made
    vars(made).clear()


def _build_c(name, wrappers, texts, folder, **options):
    path = cpp.build_inline(name, c_sources=[c.source_of(wrappers), *texts], **options)
    module = tvm_ffi.load_module(path)
    return Built(module, Path(path), module, ctypes.CDLL(path))


def _build_llvm(name, wrappers, texts, folder, **_):
    from llvmlite import ir

    from tvm_ffi.codegen import llvm

    beside = cpp.build_inline(f"{name}_beside", c_sources=texts)
    plain = ctypes.CDLL(beside)
    module = ir.Module(name)
    symbols = {}
    for wrapper in wrappers:
        llvm.emit_wrapper(module, wrapper)
        for callee in wrapper.callees.values():
            symbols[callee] = ctypes.cast(getattr(plain, callee), ctypes.c_void_p).value
    made = llvm.jit(module, symbols=symbols)
    path = tvm_ffi.export_library(folder / f"{name}.so", made)
    return Built(made, path, tvm_ffi.load_module(beside), plain)
