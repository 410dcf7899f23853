# SPDX-License-Identifier: Apache-2.0
"""The ABI, executable: an implementation of the TVM FFI C ABI in Python, which checks its users.

The chapters follow the specification; read each beside it, in this order: `values`, `objects`,
`types`, `reflection`, `strings`, `errors`, `functions`, `tensors` with `dtypes`, `environment`,
`sequences`, `hashing`, `maps`, `modules`, `builtins`. `checks` and `rules` check calls; `runtime`,
`trampoline` and `memory` are the boundary between C and Python.

`Reference` loads and runs compiled libraries on it. A process has one runtime.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from .convert import DataType, Device, Function, Module, Pointer, RawString, Tensor, Value, View
from .rules import RULES, Rule, Violation
from .runtime import Runtime
from .values import Pending, Raised

__all__ = [
    "RULES", "DataType", "Device", "Function", "Module", "Pointer", "Raised", "RawString",
    "Reference", "Rule", "Tensor", "Value", "View", "Violation",
]  # fmt: skip


class Reference:
    """Runs compiled libraries on the reference implementation and collects violations.

    Raises
    ------
    RuntimeError
        If the process has loaded another ``libtvm_ffi.so``, or has no C compiler.

    Notes
    -----
    The runtime is created by the first `Reference` of the process and shared by all.
    """

    _runtime: ClassVar[Runtime | None] = None

    def __init__(self) -> None:
        if Reference._runtime is None:
            Reference._runtime = Runtime()
        self.runtime = Reference._runtime

    @property
    def library(self) -> ctypes.CDLL:
        """The trampoline library, with the prototypes of all C functions."""
        return self.runtime.trampoline.library

    @property
    def violations(self) -> list[Violation]:
        """The broken rules so far; the list may be cleared."""
        return self.runtime.checks.violations

    def load(self, path: str | os.PathLike[str]) -> Module:
        """Return the module of a shared library; raise `Raised` if it cannot be loaded."""
        try:
            handle = self.runtime.modules.load_file(str(Path(path).absolute()))
        except Pending as failure:
            raise self.runtime.errors.take_as_exception(failure.code) from None
        self.runtime.objects.adopt(handle)
        return Module(self.runtime, handle)

    def tensor(self, dtype: str, shape: list[int], elements: list[Any]) -> Tensor:
        """Return a new tensor on the CPU with `elements` in row-major order."""
        return self.runtime.convert.new_tensor(dtype, shape, elements)

    def function(self, name: str, function: Callable[..., Any]) -> Function:
        """Return a function object that calls a Python function."""
        handle = self.runtime.convert.new_function(name, function)
        self.runtime.objects.adopt(handle)
        return Function(self.runtime, handle)

    def get_global(self, name: str) -> Function:
        """Return a global function."""
        handle = self.runtime.functions.globals[name]
        self.runtime.objects.hold(handle)
        return Function(self.runtime, handle)

    def set_global(self, name: str, function: Callable[..., Any]) -> None:
        """Register a Python function as a global function."""
        value = self.function(name, function)
        self.runtime.functions.set_global(name, value.handle, override=True)
        value.release()

    def end_scope(self) -> list[Violation]:
        """Release the values of Python, report leaks and late writes; return all violations."""
        self.runtime.convert.release_all()
        self.runtime.objects.end_scope()
        return self.violations

    @contextmanager
    def scope(self) -> Iterator[list[Violation]]:
        """Yield the list of violations, which is complete after the block."""
        try:
            yield self.violations
        finally:
            self.end_scope()
