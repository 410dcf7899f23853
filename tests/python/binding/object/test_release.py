# SPDX-License-Identifier: Apache-2.0
"""Release of native objects by Python: which destructors run without the GIL."""

from __future__ import annotations

import gc
import weakref
from typing import Any, Optional

import pytest

import tvm_ffi
from tvm_ffi._binding.object import is_nonblocking_type
from tvm_ffi.core import CAny

PATIENCE_MS = 20_000  # reached only if the thread cannot get the GIL in time


def move_over(x):
    empty = tvm_ffi.Object.__new__(tvm_ffi.Object)
    x.__move_handle_from__(empty)


WAYS = {
    "wrapper": lambda x: None,
    "array": lambda x: tvm_ffi.Array([1, x]),
    "list": lambda x: tvm_ffi.List(["text", x]),
    "map": lambda x: tvm_ffi.Map({"a": 1, "b": x}),
    "dict": lambda x: tvm_ffi.Dict({"key": x}),
    "nested": lambda x: tvm_ffi.Array([tvm_ffi.Array([x])]),
    "many": lambda x: tvm_ffi.Array([*range(100), x]),
    "value": CAny,
    "moved": move_over,
}


@pytest.mark.parametrize("release", WAYS)
def test_destructor_may_wait_for_a_thread_that_needs_python(kernels, release):
    """Regression: a release with the GIL held waited for a thread that waited for the GIL."""
    called = []
    holder = WAYS[release](kernels.new_waiting(lambda: called.append(release), PATIENCE_MS))
    gc.collect()
    del holder
    assert kernels.take_stuck() == 0
    assert called == [release]


def test_destructors_keep_the_gil_if_functions_do(run_python):
    result = run_python(
        """
import sys
import tvm_ffi
kernels = tvm_ffi.load_module(sys.argv[1])
x = kernels.new_waiting(lambda: None, 300)
del x
print(kernels.take_stuck())
""",
        TVM_FFI_RELEASE_GIL_BY_DEFAULT="0",
    )
    assert (result.returncode, result.stdout) == (0, "1\n"), result.stderr


def test_weak_references_are_cleared_before_the_destructor(kernels):
    seen = []
    x = kernels.new_waiting(lambda: seen.append(reference()), PATIENCE_MS)
    reference = weakref.ref(x)
    del x
    assert seen == [None]
    assert kernels.take_stuck() == 0


def test_types_with_plain_fields_only_are_destroyed_with_the_gil():
    """The destructors of these objects cannot block, so releasing the GIL has no benefit."""

    def defined(annotations, base=tvm_ffi.Object):
        name = f"Plain{len(seen)}"
        seen.append(name)
        body = {"__annotations__": annotations, "__module__": __name__}
        return tvm_ffi.dataclasses.py_class(f"test_release.{name}")(type(name, (base,), body))

    seen = []
    plain = defined({"x": int, "text": str, "maybe": Optional[float]})
    derived = defined({"y": bool}, plain)
    holder = defined({"value": Any})
    below_holder = defined({"y": int}, holder)
    lists = defined({"values": Optional[list]})
    answers = [
        is_nonblocking_type(cls.__tvm_ffi_type_info__.type_index)
        for cls in (plain, derived, holder, below_holder, lists)
    ]
    assert answers == [True, True, False, False, False]
    assert not is_nonblocking_type(64)
    assert not is_nonblocking_type(10**6)
    assert plain(1, "a text of some length", None).text == "a text of some length"


CHAINS = """
import sys, threading
from typing import Any
import numpy as np
import tvm_ffi
from tvm_ffi.dataclasses import py_class


@py_class("test.release.Node")
class Node(tvm_ffi.Object):
    value: Any
    next: Any = None


def nodes():
    last = None
    for _ in range(100_000):
        last = Node(1, last)
    return last


def arrays():
    last = tvm_ffi.from_dlpack(np.zeros(1))
    for _ in range(100_000):
        last = tvm_ffi.from_dlpack(last.numpy())
    return last


def functions():
    last = None
    for _ in range(100_000):
        function = tvm_ffi.convert(lambda: None)
        function.attribute = last
        last = function
    return last


def release():
    chain.clear()


chain = [{kind}()]
threading.stack_size(1 << 18)
thread = threading.Thread(target=release)
thread.start()
thread.join()
print("released")
"""


@pytest.mark.parametrize("kind", ["nodes", "arrays", "functions"])
def test_long_chains_are_released_on_a_small_stack(run_python, kind):
    """Each object released the next one recursively."""
    result = run_python(CHAINS.replace("{kind}", kind))
    assert (result.returncode, result.stdout) == (0, "released\n"), result.stderr
