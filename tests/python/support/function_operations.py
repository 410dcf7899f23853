# SPDX-License-Identifier: Apache-2.0
"""Operations on functions and modules for the threads of `test_thread_stress`.

All of them fill or clear lazily filled tables.
"""

from __future__ import annotations

import inspect
import random
from pathlib import Path

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import registry
from tvm_ffi.codegen import c, make_wrapper

NUMBERS = range(4)


class Described:
    """Functions whose signatures are set repeatedly, and their wrappers."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.module = tvm_ffi.load_module(path, keep_module_alive=False)
        self.fresh = tvm_ffi.load_module(path, keep_module_alive=False)
        self.describe(0)
        # The elements are replaced one by one, because no thread may iterate while another resizes.
        self.wrappers = [self.module.softmax, self.module.last] * 50

    def describe(self, number: int) -> None:
        """Give both functions a signature whose default is the number."""
        name = f"with_{number}"
        self.module.describe(
            {
                "softmax": f"softmax(x: Any, y: Any, {name}: int = {number}) doc '{name}'",
                "last": f"last(x: int, {name}: int = {number})",
            }
        )

    def check(self) -> None:
        """Return True if the signature that was set last applies to all wrappers."""
        self.describe(77)
        for wrapper in [self.module.softmax, self.module.last, *self.wrappers]:
            # Looked up by name, because a function that was received as a value has not read its
            # signature yet.
            assert (wrapper(x=1) if wrapper.__name__ == "last" else wrapper(x=1, y=2)[2]) == 77
            assert list(inspect.signature(wrapper).parameters)[-1] == "with_77"


def _is_default(value: object) -> bool:
    return value in NUMBERS


def _find(s: Described, draw: random.Random) -> None:
    name = draw.choice(["softmax", "last"])
    function = s.module.get_function(name)
    places = range(len(s.wrappers))
    s.wrappers[draw.choice(places)] = function
    s.wrappers[draw.choice(places)] = tvm_ffi.Array([function])[0]  # received as a value
    assert function.__name__ == name


def _call(s: Described, draw: random.Random) -> None:
    assert _is_default(s.module.last(5))
    assert _is_default(s.module.last(x=5))
    values = list(s.module["softmax"](1, y=2))
    assert values[:2] == [1, 2]
    assert _is_default(values[2])


def _call_again(s: Described, draw: random.Random) -> None:
    function = draw.choice(s.wrappers)
    if function.__name__ == "last":
        assert _is_default(function(x=5))
    else:
        assert _is_default(function(1, y=2)[2])


def _bind(s: Described, draw: random.Random) -> None:
    bound = s.module.softmax.bind(1, y=2)
    assert _is_default(bound()[2])
    assert bound()[2] == bound()[2]


def _refuse(s: Described, draw: random.Random) -> None:
    with pytest.raises(TypeError, match=r"^softmax\(\) got an unexpected keyword argument 'noth"):
        s.module.softmax(1, 2, nothing=1)


def _read(s: Described, draw: random.Random) -> None:
    function = s.module.softmax
    assert list(inspect.signature(function).parameters)[:2] == ["x", "y"]
    assert function.__doc__.startswith("with_")
    assert "softmax" in repr(function)
    assert str(s.module.get_function_signature("last")).startswith("last(x: int, with_")
    assert function.release_gil


def _read_only(s: Described, draw: random.Random) -> None:
    """Check that an argument is writable only if the signature says so."""
    array = np.zeros(3)
    array.flags.writeable = False
    function = s.fresh.reading
    function(np.zeros(3), np.zeros(3), np.zeros(3))
    with pytest.raises(BufferError):
        function(np.zeros(3), array, np.zeros(3))


def _renew(s: Described, draw: random.Random) -> None:
    s.fresh = tvm_ffi.load_module(s.path, keep_module_alive=False)


def _call_first(s: Described, draw: random.Random) -> None:
    """Other threads may make the first call of this function in this module.

    These functions have no objects as defaults, which would stay alive until the next sweep.
    """
    fresh = s.fresh
    assert list(fresh.named(1, 2, d=4)) == [1, 2, 3, 4, "x"]
    assert list(fresh["collecting"](1)) == [1, 2, 4]
    assert list(fresh.scalars(1)) == [1.0, 5]
    assert not fresh.quick.release_gil
    assert fresh.get_function("wide")(*range(7))[-1] == 10


def _list(s: Described, draw: random.Random) -> None:
    module = draw.choice([s.module, s.fresh])
    assert "softmax" in module.functions
    assert "softmax" in dir(module)
    assert "last" in module._ipython_key_completions_()
    assert "softmax" in repr(module) or "Module" in repr(module)


def _load(s: Described, draw: random.Random) -> None:
    first, second = tvm_ffi.load_module(s.path), tvm_ffi.load_module(s.path)
    assert first == second
    assert first.last(1, 2) == 2


def _register(s: Described, draw: random.Random) -> None:
    name = f"test.stress.named_{draw.randrange(2)}"
    signature = f"(x: int, y: int = {draw.choice(NUMBERS)})"
    registry.register_global_func(name, s.fresh["count"], signature=signature, override=True)
    function = tvm_ffi.get_global_func(name, allow_missing=True)
    if function is not None:
        assert function(5, 6) == 2
        assert repr(function)
    if draw.randrange(4) == 0:
        registry.remove_global_func(name)


def _generate(s: Described, draw: random.Random) -> None:
    wrapper = make_wrapper(f"f(x: float32[n, {draw.randrange(2, 9)}], k: int) -> float32[n]")
    assert "__tvm_ffi_f" in c.source_of([wrapper])


OPERATIONS = {
    "describe": lambda s, draw: s.describe(draw.choice(NUMBERS)),
    "find": _find,
    "call": _call,
    "call-again": _call_again,
    "bind": _bind,
    "refuse": _refuse,
    "read": _read,
    "read-only": _read_only,
    "renew": _renew,
    "call-first": _call_first,
    "list": _list,
    "load": _load,
    "register": _register,
    "generate": _generate,
}
