# SPDX-License-Identifier: Apache-2.0
"""Fuzz target of pickles: invalid arguments for constructors and `__setstate__` of our classes.

Pickles are trusted: they may run anything.  But the functions that they call must not corrupt
memory for any arguments: they succeed, or raise an exception that does not indicate a defect.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import coverage_guided
import numpy as np

with coverage_guided.instrumented(__name__):
    import tvm_ffi
    from tvm_ffi import core

_SAMPLES = (
    tvm_ffi.Array([1, "text"]),
    tvm_ffi.List([1.5, None]),
    tvm_ffi.Map({"a": 1}),
    tvm_ffi.Dict({1: b"bytes"}),
    tvm_ffi.Shape((2, 3)),
    tvm_ffi.device("cuda", 1),
    tvm_ffi.dtype("float32x4"),
    tvm_ffi.from_dlpack(np.arange(6.0)),
    tvm_ffi.get_global_func("ffi.json.Parse"),
    tvm_ffi.convert(ValueError("text")),
)
_PLAIN = (
    None,
    True,
    0,
    -1,
    2**63,
    -(2**70),
    1.5,
    "",
    "a",
    "ffi.json.Parse",
    "\0",
    b"",
    b"\xff" * 9,
)


@coverage_guided.watched(__name__)
def check(data: bytes) -> None:
    """Call the functions that a sample's pickle calls, with other arguments."""
    choices = iter(data)
    sample = _SAMPLES[next(choices, 0) % len(_SAMPLES)]
    make, arguments, *rest = sample.__reduce_ex__(2)
    with _allowed():
        made = make(*_changed(arguments, choices))
        _use(made)
        if hasattr(made, "__setstate__"):
            made.__setstate__(_changed(rest[0] if rest else None, choices))
            _use(made)
    with _allowed():
        _use(type(sample)(*_values(choices)))
    with _allowed():
        empty = type(sample).__new__(type(sample))
        if hasattr(empty, "__setstate__"):
            empty.__setstate__(_value(choices, 2))
        _use(empty)


@contextlib.contextmanager
def _allowed() -> Iterator[None]:
    """Suppress exceptions except those that show a defect."""
    try:
        yield
    except Exception as error:
        is_defect = isinstance(error, (SystemError, AssertionError))
        if is_defect or type(error).__name__ == "InternalError":
            raise


def _use(value: Any) -> None:
    repr(value)
    hash(value)
    if isinstance(value, core.Object):
        value == value  # noqa: B015, PLR0124
        value.__reduce_ex__(2)


@coverage_guided.watched(__name__)
def _changed(value: Any, choices: Iterator[int]) -> Any:
    """Return the value with some of its children replaced by others."""
    choice = next(choices, 0)
    if choice % 4 == 1:
        return _value(choices, 2)
    if isinstance(value, tuple):
        return tuple(_changed(part, choices) for part in value)
    if isinstance(value, list):
        return [_changed(part, choices) for part in value]
    if isinstance(value, dict):
        return {key: _changed(part, choices) for key, part in value.items()}
    return value


def _values(choices: Iterator[int]) -> list[Any]:
    return [_value(choices, 2) for _ in range(next(choices, 0) % 4)]


@coverage_guided.watched(__name__)
def _value(choices: Iterator[int], depth: int) -> Any:
    choice = next(choices, 0)
    if choice < 64 or depth == 0:
        return _PLAIN[choice % len(_PLAIN)]
    if choice < 128:
        return _SAMPLES[choice % len(_SAMPLES)]
    parts = [_value(choices, depth - 1) for _ in range(choice % 4)]
    return [parts, tuple(parts), {"handle": parts, "__dict__": parts}, iter(parts)][choice // 8 % 4]


if __name__ == "__main__":
    coverage_guided.run(check)
