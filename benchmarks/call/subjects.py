# SPDX-License-Identifier: Apache-2.0
"""What is measured: a ``tvm_ffi`` package (ours or the peer) or the floor.

A subject turns a row into a callable with its arguments, and can say which versions it runs on.
Imported by the worker only, inside the environment of the implementation.
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

INT_VALUE = 1_000_003  # beyond the small ints that Python keeps ready
SHORT_STR = "abcdef"  # fits into the tagged value
LONG_STR = "0123456789abcdef" * 4  # needs a heap object


@dataclass(frozen=True)
class PreparedCall:
    """A row made concrete: ``call(*args)`` is what gets timed."""

    call: Callable[..., Any]
    args: tuple[Any, ...]
    keywords: tuple[str, ...] = ()
    """Names of the last arguments."""

    def once(self) -> Any:
        """Call once and return the result."""
        by_position = len(self.args) - len(self.keywords)
        named = dict(zip(self.keywords, self.args[by_position:]))
        return self.call(*self.args[:by_position], **named)

    def timed(self, *, raises: bool) -> Prepared:
        """Return the call as a statement; an argument's name is that of its position."""
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
        """Return the names that a row's set-up makes.

        Raises
        ------
        NotImplementedError
            If the row has no meaning here.
        """

    def select(self, row: CallRow) -> None:
        """Get ready for a measurement of that row; called before each."""

    def count_expected_tensors(self, kind: str, args: tuple[Any, ...]) -> int:
        """Pass three tensors of one kind to the checking kernel; return how many it saw."""

    def versions(self) -> dict[str, str]:
        """Return the versions of what takes part in the calls."""


def empty_function() -> None:
    """Do nothing: the yardstick for the cost of any call in Python."""


def add_one(value: int) -> int:
    """Return the successor; the callback of the callback rows."""
    return value + 1


def expected_array() -> Any:
    """Return the array that ``check_tensors`` in ``kernels.c`` expects."""
    import numpy

    return numpy.arange(32, dtype=numpy.float32).reshape(4, 8)


def _torch_tensor() -> Any:
    import torch

    return torch.arange(32, dtype=torch.float32).reshape(4, 8)


# The values that are the same for all subjects.
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
    """Return the versions of those modules that are loaded."""
    modules = {name: sys.modules[name] for name in names if name in sys.modules}
    return {name: str(getattr(module, "__version__", "?")) for name, module in modules.items()}


class SetUps:
    """The set-ups of rows, each run once: what rows share may register a type."""

    def __init__(self, **given: Any) -> None:
        self._given = given
        self._made: dict[str, dict[str, Any]] = {}

    def names(self, source: str) -> dict[str, Any]:
        """Return all names that a set-up leaves, those that it was given included."""
        if source not in self._made:
            namespace = dict(self._given)
            exec(source, namespace)
            namespace.pop("__builtins__")
            self._made[source] = namespace
        return dict(self._made[source])


class PackageSubject:
    """A ``tvm_ffi`` package, as found in this environment."""

    def __init__(self, kernels: Path) -> None:
        import tvm_ffi

        self._package: Any = tvm_ffi
        self._module = self._package.load_module(str(kernels))
        self._set_ups = SetUps(tvm_ffi=self._package, kernels=self._module)

    def prepare(self, row: CallRow) -> PreparedCall:
        """Return the callable and arguments of a row."""
        if row.kernel is None:
            return PreparedCall(empty_function, ())
        # A wrapper of its own: the GIL policy of one row is not that of others.
        function = self._module.get_function(row.kernel)
        if row.keeps_gil:
            function.release_gil = False
        return PreparedCall(function, tuple(map(self._value, row.values)), row.names)

    def execute(self, row: StatementRow) -> dict[str, Any]:
        """Return the names that a row's set-up makes."""
        return self._set_ups.names(row.setup)

    def select(self, row: CallRow) -> None:
        """Do nothing: the GIL policy belongs to the function object."""

    def _value(self, kind: str) -> Any:
        if kind == "tensor":
            return self._package.from_dlpack(expected_array())
        if kind == "function":
            return self._package.convert(add_one)
        return VALUES[kind]()

    def count_expected_tensors(self, kind: str, args: tuple[Any, ...]) -> int:
        """Pass three tensors of one kind to the checking kernel; return how many it saw."""
        del kind  # one function takes them all
        return int(self._module["check_tensors"](*args))

    def versions(self) -> dict[str, str]:
        """Return the versions of what takes part in the calls."""
        return _loaded_versions("tvm_ffi", "numpy", "torch")


class FloorSubject:
    """The hand-written extension in ``floor/``."""

    def __init__(self, kernels: Path, extension: Path, library: Path, with_numpy: bool) -> None:
        # The kernels and the extension take the ABI's functions from this library.
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
        """Return the names that a row's set-up makes."""
        if row.floor_setup is None:
            raise NotImplementedError("nothing that a floor could do less of")
        return self._set_ups.names(row.floor_setup)

    def select(self, row: CallRow) -> None:
        """Set the GIL policy, which is one flag for the whole extension."""
        self._floor.set_release_gil(not row.keeps_gil)

    def _value(self, kind: str) -> Any:
        if kind == "tensor":
            return self._floor.Tensor(expected_array())
        if kind == "function":
            return self._floor.Function(add_one)
        return VALUES[kind]()

    def count_expected_tensors(self, kind: str, args: tuple[Any, ...]) -> int:
        """Pass three tensors of one kind to the checking kernel; return how many it saw."""
        checks = {"tensor": "check_tensors", "numpy": "check_numpy", "torch": "check_torch"}
        return int(getattr(self._floor, checks[kind])(*args))

    def versions(self) -> dict[str, str]:
        """Return the versions of what takes part in the calls."""
        return _loaded_versions("numpy", "torch")
