# SPDX-License-Identifier: Apache-2.0
"""Measured subjects: a ``tvm_ffi`` package (ours or the incumbent), or the floor.

A subject converts a row to a callable with arguments, and reports its versions.  Only the worker
imports this module, in the environment of the implementation.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from python_api.rows import StatementRow

from call.rows import CallRow
from call.timing import Prepared

INT_VALUE = 1_000_003  # an int that CPython does not cache
SHORT_STR = "abcdef"  # a str that is stored inside the TVMFFIAny
LONG_STR = "0123456789abcdef" * 4  # a str that is stored in a heap object


@dataclass(frozen=True)
class PreparedCall:
    """A callable with the arguments of a row; ``call(*args)`` is timed."""

    call: Callable[..., Any]
    args: tuple[Any, ...]
    keywords: tuple[str, ...] = ()
    """Names of the last arguments, which are passed as keyword arguments."""

    def once(self) -> Any:
        """Call once and return the result."""
        by_position = len(self.args) - len(self.keywords)
        named = dict(zip(self.keywords, self.args[by_position:]))
        return self.call(*self.args[:by_position], **named)

    def timed(self, *, raises: bool) -> Prepared:
        """Return the call as a statement, with the arguments named a0, a1, ..."""
        names = [f"a{i}" for i in range(len(self.args))]
        values = {"call": self.call, **dict(zip(names, self.args))}
        by_position = len(names) - len(self.keywords)
        passed = names[:by_position]
        passed += [f"{key}={name}" for key, name in zip(self.keywords, names[by_position:])]
        return Prepared(f"call({', '.join(passed)})", values, raises)


class Subject(Protocol):
    """An implementation under measurement."""

    def prepare(self, row: CallRow) -> PreparedCall:
        """Return the callable and arguments of a row."""

    def execute(self, row: StatementRow) -> dict[str, Any]:
        """Run a row's set-up and return the names that it defines.

        Raises
        ------
        NotImplementedError
            If the row does not apply to the subject.
        """

    def select(self, row: CallRow) -> None:
        """Prepare for the next measurement, which is of `row`."""

    def count_expected_tensors(self, kind: str, args: tuple[Any, ...]) -> int:
        """Pass three tensors to the checking kernel; return the number of expected tensors."""

    def versions(self) -> dict[str, str]:
        """Return the versions of the loaded packages."""


def empty_function() -> None:
    """Do nothing; the reference for the cost of a Python call."""


def add_one(value: int) -> int:
    """Return ``value + 1``; the callback of the callback rows."""
    return value + 1


def expected_array() -> Any:
    """Return the array that ``check_tensors`` in ``kernels.c`` expects."""
    import numpy

    return numpy.arange(32, dtype=numpy.float32).reshape(4, 8)


def _torch_tensor() -> Any:
    import torch

    return torch.arange(32, dtype=torch.float32).reshape(4, 8)


# Argument values by kind, common to all subjects.
VALUES: dict[str, Callable[[], Any]] = {
    "int": lambda: INT_VALUE,
    "float": lambda: 2.5,
    "short_str": lambda: SHORT_STR,
    "long_str": lambda: LONG_STR,
    "numpy": expected_array,
    "torch": _torch_tensor,
    "callable": lambda: add_one,
}


def _loaded_versions(*names: str) -> dict[str, str]:
    """Return the versions of the named modules that are loaded."""
    modules = {name: sys.modules[name] for name in names if name in sys.modules}
    return {name: str(getattr(module, "__version__", "?")) for name, module in modules.items()}


class SetUps:
    """Cache of the names that executed set-ups define.

    Rows with the same set-up share one execution, because a set-up may register a type.
    """

    def __init__(self, **given: Any) -> None:
        self._given = given
        self._made: dict[str, dict[str, Any]] = {}

    def names(self, source: str) -> dict[str, Any]:
        """Return all names in the set-up's namespace, including the given ones."""
        if source not in self._made:
            namespace = dict(self._given)
            exec(source, namespace)
            namespace.pop("__builtins__")
            self._made[source] = namespace
        return dict(self._made[source])


class PackageSubject:
    """The ``tvm_ffi`` package of this environment."""

    def __init__(self, kernels: Path) -> None:
        import tvm_ffi

        self._package: Any = tvm_ffi
        self._module = self._package.load_module(str(kernels))
        self._set_ups = SetUps(tvm_ffi=self._package, kernels=self._module)

    def prepare(self, row: CallRow) -> PreparedCall:
        """Return the callable and arguments of a row."""
        if row.kernel is None:
            return PreparedCall(empty_function, ())
        # Use one wrapper per row, because the GIL policy is an attribute of the wrapper.

        function = self._module.get_function(row.kernel)
        if row.keeps_gil:
            function.release_gil = False
        return PreparedCall(function, tuple(map(self._value, row.values)), row.names)

    def execute(self, row: StatementRow) -> dict[str, Any]:
        """Run a row's set-up and return the names that it defines."""
        return self._set_ups.names(row.setup)

    def select(self, row: CallRow) -> None:
        """Do nothing; the GIL policy is an attribute of the function object."""

    def _value(self, kind: str) -> Any:
        if kind == "tensor":
            return self._package.from_dlpack(expected_array())
        if kind == "function":
            return self._package.convert(add_one)
        return VALUES[kind]()

    def count_expected_tensors(self, kind: str, args: tuple[Any, ...]) -> int:
        """Pass three tensors to the checking kernel; return the number of expected tensors."""
        del kind  # one function accepts all kinds
        return int(self._module["check_tensors"](*args))

    def versions(self) -> dict[str, str]:
        """Return the versions of the loaded packages."""
        return _loaded_versions("tvm_ffi", "numpy", "torch")


class FloorSubject:
    """The hand-written extension in ``floor/``."""

    def __init__(self, kernels: Path, extension: Path, library: Path, with_numpy: bool) -> None:
        # The kernels and the extension resolve the ABI's functions from this library.
        ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
        spec = importlib.util.spec_from_file_location("floor", extension)
        if spec is None or spec.loader is None:
            raise ImportError(f"not an extension module: {extension.name}")
        self._floor: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self._floor)
        self._floor.load(str(kernels))
        if with_numpy:
            self._floor.load_numpy()
        self._set_ups = SetUps(floor=self._floor)

    def prepare(self, row: CallRow) -> PreparedCall:
        """Return the callable and arguments of a row."""
        if row.kernel is None:
            return PreparedCall(empty_function, ())
        if "torch" in row.values:
            import torch

            self._floor.use_exchange_api(torch.Tensor)
        function = getattr(self._floor, row.floor or row.name)
        return PreparedCall(function, tuple(map(self._value, row.values)), row.names)

    def execute(self, row: StatementRow) -> dict[str, Any]:
        """Run a row's set-up and return the names that it defines."""
        if row.floor_setup is None:
            raise NotImplementedError("the row has no floor")
        return self._set_ups.names(row.floor_setup)

    def select(self, row: CallRow) -> None:
        """Set the GIL policy, which is a global flag of the extension."""
        self._floor.set_release_gil(not row.keeps_gil)

    def _value(self, kind: str) -> Any:
        if kind == "tensor":
            return self._floor.Tensor(expected_array())
        if kind == "function":
            return self._floor.Function(add_one)
        return VALUES[kind]()

    def count_expected_tensors(self, kind: str, args: tuple[Any, ...]) -> int:
        """Pass three tensors to the checking kernel; return the number of expected tensors."""
        checks = {"tensor": "check_tensors", "numpy": "check_numpy", "torch": "check_torch"}
        return int(getattr(self._floor, checks[kind])(*args))

    def versions(self) -> dict[str, str]:
        """Return the versions of the loaded packages."""
        return _loaded_versions("numpy", "torch")
