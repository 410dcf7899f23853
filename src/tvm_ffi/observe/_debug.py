# SPDX-License-Identifier: Apache-2.0
"""Debug context: finds functions that break a rule of the ABI or of their signature."""

from __future__ import annotations

import ctypes
import gc
import sys
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Callable

from .._binding.call import python_callable
from .._binding.call.signature_lookup import find_binder
from .._binding.object import ERROR_NAME_TO_TYPE, get_object_metadata
from ..core import Function, convert_func
from ..registry import get_global_func
from ._observer import UNNAMED, Observer
from ._rules import RULES, Rule

__all__ = ["Debug", "Fault"]

_DIRECTIONS = {"in": "i", "out": "o", "inout": "w"}
_KINDS_WITHOUT_CLASS = {"EnvErrorAlreadySet", "InternalError"}
# Types of results for which None is a valid value.
_MAY_BE_NONE = {"Any", "None", "Optional", "Union", "Variant"}


@dataclass(frozen=True)
class Fault:
    """A rule that a call broke.

    Attributes
    ----------
    function : str
        Name of the function.
    argument : str
        Name of the parameter, ``"argument 0"`` if the names are unknown, ``"result"``, or ``""``.
    rule : Rule
        The rule, with the section of the specification that states it.
    message : str
        Values of the first call that broke the rule.
    count : int
        Number of calls that broke the rule.
    stack : str
        Python frames of the first call, most recent call last; empty in threads without Python.
    native_stack : str
        Native frames of the first call, most recent call first; empty if unknown.
    events : str
        Stacks of other events, each with a heading: the write to an input, the creation and the
        release of an object; empty if unknown.
    """

    function: str
    argument: str
    rule: Rule
    message: str
    count: int
    stack: str
    native_stack: str
    events: str = ""

    def __str__(self) -> str:
        where = f"{self.function}, {self.argument}" if self.argument else self.function
        times = f" ({self.count} calls)" if self.count > 1 else ""
        text = f"{where}: {self.message}{times}\n    {self.rule}"
        stack = self.stack or self.native_stack
        return f"{text}\n{stack}{self.events}".rstrip()


class Debug(Observer):
    """Checks of all calls of functions, from every language and thread.

    Parameters
    ----------
    names : iterable of str, optional
        Names of the functions to check; a name that ends with ``*`` is a prefix.  Default: all.
    max_bytes : int
        Size in bytes up to which the elements of a tensor are compared.
    not_finite : bool
        True to find NaN and infinity in outputs.
    leaks : bool
        True to find arguments that functions keep until the end of the context.
    on_fault : callable, optional
        Called with each new `Fault`, on the thread of the call.

    Notes
    -----
    The context is a sequence of `Fault`.  Calls are slower while they are checked.

    Examples
    --------
    >>> with tvm_ffi.debug() as found:
    ...     _ = tvm_ffi.get_global_func("ffi.Shape")(2, 3)
    >>> list(found)
    []
    """

    def __init__(
        self,
        names: Iterable[str] | str = (),
        *,
        max_bytes: int = 1 << 26,
        not_finite: bool = False,
        leaks: bool = True,
        on_fault: Callable[[Fault], object] | None = None,
    ) -> None:
        super().__init__(names)
        if not isinstance(max_bytes, int) or max_bytes < 0:
            raise ValueError(f"debug: max_bytes must be an int of at least 0, got {max_bytes!r}")
        self._options = [max_bytes, bool(not_finite), bool(leaks)]
        self._on_fault = on_fault
        self._final: list[Fault] | None = None

    def _add(self) -> tuple[Function, int]:
        self._final = None
        report = partial(_report, self._on_fault)
        host: list[Callable[..., Any]] = [_describe, _knows_kind, _stack, report]
        read, number = get_global_func("pytvmffi.ObserverAddDebug")(
            self._names, self._options, [convert_func(x) for x in host], _host_addresses()
        )
        return read, number

    def stop(self) -> None:
        """Stop to check calls, and find arguments that functions have kept."""
        if not self.is_running:
            return
        super().stop()
        if self._options[2]:
            gc.collect()
        self._final = self._read_faults()

    def _read_faults(self) -> list[Fault]:
        return [_new_fault(*row) for row in self._content() or ()]

    @property
    def faults(self) -> list[Fault]:
        """The faults that have been found, in their order."""
        return self._read_faults() if self._final is None else list(self._final)

    def __iter__(self) -> Iterator[Fault]:
        return iter(self.faults)

    def __len__(self) -> int:
        return len(self.faults)

    def __getitem__(self, index: int) -> Fault:
        return self.faults[index]

    def __str__(self) -> str:
        return "\n".join(map(str, self.faults)) or "no faults"


def _new_fault(
    function: str,
    argument: str,
    rule: str,
    message: str,
    count: int,
    stack: str,
    native: str,
    events: str,
) -> Fault:
    return Fault(
        str(function or UNNAMED),
        str(argument),
        RULES[rule],
        str(message),
        count,
        str(stack),
        str(native),
        str(events),
    )


# ---- Functions that the native observer calls ----------------------------------------------------


def _describe(function: Function, name: str) -> Any:
    """Return the row `describe` of runtime/extra/observe/debug.h, or None."""
    runs_python = python_callable(function) is not None
    origin = get_object_metadata(function) or name
    binder = find_binder(function, origin) if origin else None
    if binder is None:
        return [True, False, "", []] if runs_python else None
    signature = binder.signature
    parameters = [p for p in signature.parameters if p.kind != "variadic"]
    directions = "".join(_DIRECTIONS.get(p.direction, "-") for p in parameters)
    needs_result = bool(signature.results) and not any(map(_may_be_none, signature.results))
    return [runs_python, needs_result, directions, [p.name for p in parameters]]


def _may_be_none(result: Any) -> bool:
    schema = getattr(result.type, "schema", None)
    if schema is None:
        return bool(result.type.is_optional)
    return schema.origin in _MAY_BE_NONE


def _knows_kind(kind: str) -> bool:
    return kind in ERROR_NAME_TO_TYPE or kind in _KINDS_WITHOUT_CLASS


def _stack() -> str:
    frame = sys._getframe().f_back
    return "" if frame is None else "".join(traceback.format_stack(frame))


def _report(
    on_fault: Callable[[Fault], object] | None,
    function: str,
    argument: str,
    rule: str,
    message: str,
    stack: str,
    events: str,
) -> None:
    if on_fault is not None:
        on_fault(_new_fault(function, argument, rule, message, 1, stack, "", events))


def _host_addresses() -> list[int]:
    """Return the row `addresses` of runtime/extra/observe/debug.h."""
    names = (
        "PyGILState_Ensure",
        "PyGILState_Release",
        "PyErr_Occurred",
        "Py_IsInitialized",
        "PyGILState_GetThisThreadState",
    )
    functions = (getattr(ctypes.pythonapi, name) for name in names)
    return [ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions]
