# SPDX-License-Identifier: Apache-2.0
"""Runtime: the chapters together, and the boundary at which C calls Python.

Each C function of the ABI is a method of the same name in one chapter. The boundary turns `Raised`
into the thread's pending error and the return code -1.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import NoReturn

from tvm_ffi_conformance import abi

from .builtins import Builtins
from .checks import Checks
from .convert import Convert
from .dtypes import DataTypes
from .environment import Environment
from .errors import Errors
from .functions import Functions
from .hashing import Hashing
from .maps import Maps
from .memory import Heap
from .modules import Modules
from .objects import Objects
from .reflection import Reflection
from .sequences import Sequences
from .strings import Strings
from .tensors import Tensors
from .trampoline import PROTOTYPES, Trampoline
from .types import Types
from .values import Pending, Raised, Values

# c-abi.md, "6.1 Conventions": functions that cannot report errors end the process.
ABORTS = {
    "TVMFFIGetTypeInfo", "TVMFFITypeGetOrAllocIndex", "TVMFFIGetTypeAttrColumn",
    "TVMFFIGetCustomAllocator", "TVMFFIEnvGetStream", "TVMFFIEnvGetDLPackManagedTensorAllocator",
}  # fmt: skip


class Runtime:
    """One runtime: all chapters over one heap and one trampoline."""

    def __init__(self, library: str | None = None, checks: type[Checks] = Checks) -> None:
        self.heap = Heap()
        self.trampoline = Trampoline(library)
        self.checks = checks(self)
        self.values = Values(self)
        self.objects = Objects(self)
        self.types = Types(self)
        self.strings = Strings(self)
        self.errors = Errors(self)
        self.functions = Functions(self)
        self.tensors = Tensors(self)
        self.dtypes = DataTypes(self)
        self.environment = Environment(self)
        self.sequences = Sequences(self)
        self.hashing = Hashing(self)
        self.maps = Maps(self)
        self.modules = Modules(self)
        self.once = threading.RLock()
        """Guards one-time handles and the look-up of imports."""
        self._bind()
        self.convert = Convert(self)
        self.builtins = Builtins(self)
        self.reflection = Reflection(self)

    def _bind(self) -> None:
        """Connect the trampoline's functions to the methods of the chapters."""
        for name, prototype in PROTOTYPES.items():
            # The function pointers that objects store are bound to methods such as `on_safe_call`.
            own = name.replace("tvm_ffi_reference_", "on_")
            chapter = next((c for c in (self, *vars(self).values()) if hasattr(c, own)), None)
            if chapter:  # `Reflection` binds the others
                method = getattr(chapter, own)
                stored = lambda *given, m=method: m(*_zeros(given))  # noqa: E731
                boundary = self._boundary(name, prototype, method)
                self.trampoline.bind(name, boundary if own == name else stored)

    def guard(self, name: str, body: Callable[[], object]) -> int:
        """Run `body`; return its code, or -1 with the error stored for the caller."""
        # c-abi.md, "6.1 Conventions": 0 is success; -1 is failure with an error in the slot.
        # "13.1 The packed convention": exceptions must not leave the function.
        with self.checks.frame(name):
            try:
                code = body()
            except Pending as failure:
                return failure.code
            except Raised as failure:
                self.errors.store(failure)
                return -1
            except Exception as failure:  # whatever Python raised, C gets a code
                self.errors.store(Raised("InternalError", f"{type(failure).__name__}: {failure}"))
                return -1
        return code if isinstance(code, int) else 0

    def _boundary(
        self, name: str, prototype: abi.Prototype, method: Callable[..., object]
    ) -> Callable[..., object]:
        """Return the callback for a C function: null pointers are 0, errors become codes."""
        if name in ABORTS:
            return lambda *arguments: self._or_abort(name, lambda: method(*_zeros(arguments)))
        if prototype.returns == "int":
            return lambda *arguments: self.guard(name, lambda: method(*_zeros(arguments)))

        def call(*arguments: int | None) -> object:
            with self.checks.frame(name):
                return method(*_zeros(arguments))

        return call

    def _or_abort(self, name: str, body: Callable[[], object]) -> object:
        """Run `body`; end the process if it fails."""
        try:
            with self.checks.frame(name):
                return body()
        except Raised as failure:
            abort(name, "\n".join([failure.message, *map(str, self.checks.violations)]))

    def on_thread_exit(self, number: int) -> None:
        """Release the state of a native thread that ends."""
        self.checks.forget_thread(number)
        self.errors.forget_thread(number)
        self.environment.forget_thread(number)

    def TVMFFIGetVersion(self, out_version: int) -> None:
        # c-abi.md, "1. Identity of the library": the level of the ABI, as three numbers.
        version = abi.TVMFFIVersion.from_address(out_version)
        version.major, version.minor, version.patch = abi.VERSION


def _zeros(arguments: tuple[int | None, ...]) -> list[int]:
    """Return the arguments of a ctypes callback with 0 for null pointers."""
    return [argument or 0 for argument in arguments]


def abort(name: str, message: str) -> NoReturn:
    """End the process as a function does that cannot report an error."""
    # c-abi.md, "6.1 Conventions": the message goes to stderr, the status is 255.
    sys.stderr.write(f"Exception caught during {name}:\n{message}\n")
    sys.stderr.flush()
    os._exit(255)
