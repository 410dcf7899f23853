# SPDX-License-Identifier: Apache-2.0
"""Builders of wrapper libraries with each printer, for the code generation tests.

Tests of checks alone also run with the runtime's check programs, as the printer ``engine``.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tvm_ffi
from tvm_ffi import cpp
from tvm_ffi.codegen import c
from tvm_ffi.signature._check_program import check_program

PRINTERS = ("c", "llvm")
CHECKERS = (*PRINTERS, "engine")
# A function with the packed calling convention that returns None.
IDLE = """
#include <tvm/ffi/c_api.h>
TVM_FFI_DLL_EXPORT int __tvm_ffi_do_nothing(
    void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  (void)handle, (void)args, (void)num_args, (void)result;
  return 0;
}
"""


class Built:
    """Built wrappers, the functions that they call, and helper functions in C.

    Parameters
    ----------
    module : Module
        The wrappers.
    path : path
        A library that contains the wrappers.
    helpers : Module
        C functions with the packed calling convention.
    plain : ctypes.CDLL
        The callees of the wrappers.
    """

    def __init__(self, module: Any, path: Path, helpers: Any, plain: ctypes.CDLL) -> None:
        self.module, self.path, self.helpers, self.plain = module, path, helpers, plain

    def __getattr__(self, name: str) -> Any:
        try:
            return self.module.get_function(name)
        except AttributeError:
            return self.helpers.get_function(name)


def built(
    printer: str, name: str, wrappers: Any, texts: Any, folder: Path, **options: Any
) -> Iterator[Built]:
    """Yield the wrappers that a printer generates for functions in C source texts.

    The attributes are deleted with the fixture, because pytest keeps the value of a fixture longer.
    """
    make = {"c": _build_c, "llvm": _build_llvm, "engine": _build_engine}[printer]
    made = make(name, list(wrappers), list(texts), folder, **options)
    yield made
    if isinstance(made.module, _CheckedFunctions):
        made.module.unregister()
    vars(made).clear()


def _build_c(name, wrappers, texts, folder, **options):
    path = cpp.build_inline(name, c_sources=[c.source_of(wrappers), *texts], **options)
    module = tvm_ffi.load_module(path)
    return Built(module, Path(path), module, ctypes.CDLL(path))


def _build_llvm(name, wrappers, texts, folder, **_):
    from llvmlite import ir

    from tvm_ffi.codegen import llvm

    helpers = cpp.build_inline(f"{name}_beside", c_sources=texts)
    plain = ctypes.CDLL(helpers)
    module = ir.Module(name)
    symbols = {}
    for wrapper in wrappers:
        llvm.emit_wrapper(module, wrapper)
        for callee in wrapper.callees.values():
            symbols[callee] = ctypes.cast(getattr(plain, callee), ctypes.c_void_p).value
    made = llvm.jit(module, symbols=symbols)
    path = tvm_ffi.export_library(folder / f"{name}.so", made)
    return Built(made, path, tvm_ffi.load_module(helpers), plain)


class _CheckedFunctions:
    """Functions that do nothing but check their arguments, with the interface of a module.

    Both the binding and the functions check the arguments, so that callers in Python and in C get
    the checks.
    """

    def __init__(self, wrappers: Any, idle: tvm_ffi.Function) -> None:
        checked = tvm_ffi.get_global_func("pytvmffi.CheckFunction")
        self._names = {wrapper.name: f"checks.{wrapper.name}" for wrapper in wrappers}
        for wrapper in wrappers:
            function = checked(check_program(wrapper.signature), idle)
            tvm_ffi.register_global_func(
                self._names[wrapper.name], function, override=True, signature=wrapper.signature
            )

    def get_function(self, name: str) -> Any:
        if name not in self._names:
            raise AttributeError(name)
        return tvm_ffi.get_global_func(self._names[name])

    def unregister(self) -> None:
        """Remove the functions: other tests of the process look at all global functions."""
        for name in self._names.values():
            tvm_ffi.registry.remove_global_func(name)


def _build_engine(name, wrappers, texts, folder, **_):
    helpers = cpp.build_inline(f"{name}_helpers", c_sources=[*texts, IDLE])
    module = tvm_ffi.load_module(helpers)
    functions = _CheckedFunctions(wrappers, module.get_function("do_nothing"))
    return Built(functions, Path(helpers), module, ctypes.CDLL(helpers))
