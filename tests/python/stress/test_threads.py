# SPDX-License-Identifier: Apache-2.0
"""Concurrent Python threads: calls, callbacks, errors, registrations, new types."""

from __future__ import annotations

import copy
import sys
import sysconfig
import threading
import time

import numpy as np
import pytest
from threads_together import run_together

import tvm_ffi
from tvm_ffi import core, registry

NUM_THREADS = 8
NUM_ROUNDS = 200


@pytest.fixture
def on_threads():
    """Return a function that runs ``work(i)`` on NUM_THREADS threads, which start together."""
    return lambda work: run_together(work, NUM_THREADS, timeout_s=60)


def test_calls_with_every_kind_of_value(kernels, on_threads):
    shared = np.arange(5)

    def work(i):
        own = np.full(3, i)
        values = [i, i / 4, f"short{i}", f"a text on the heap {i}", b"bytes" * i, None, 2**70 + i]
        for _ in range(NUM_ROUNDS):
            for value in values:
                assert kernels.echo(value) == value
            assert kernels.echo(own).numpy()[0] == i
            assert kernels.last(shared, own, "x" * 20, i) == i
        return kernels.weighted_sum(shared)

    assert on_threads(work) == [40] * NUM_THREADS


def test_callbacks(kernels, on_threads):
    def work(i):
        total = 0
        for _ in range(NUM_ROUNDS):
            total += kernels.call(lambda x: kernels.call(lambda y: y + i, x), 1)
        return total

    assert on_threads(work) == [NUM_ROUNDS * (1 + i) for i in range(NUM_THREADS)]


def test_errors_stay_with_their_thread(kernels, on_threads):
    def work(i):
        original = LookupError(i)

        def fail():
            raise original

        for _ in range(NUM_ROUNDS // 4):
            with pytest.raises(LookupError) as caught:
                kernels.call(fail)
            assert caught.value is original
            with pytest.raises(ValueError, match=f"^message {i}$"):
                kernels["raise"]("ValueError", f"message {i}")

    on_threads(work)


def test_errors_on_native_threads(kernels, on_threads):
    def work(i):
        def fail():
            raise LookupError(i)

        for _ in range(20):
            with pytest.raises(LookupError) as caught:
                kernels.call_on_thread(fail)
            assert caught.value.args == (i,)

    on_threads(work)


def test_registrations(on_threads):
    def work(i):
        for round_number in range(NUM_ROUNDS):
            name = f"test.threads.{i}.{round_number}"
            tvm_ffi.register_global_func(name, lambda i=i: i)
            assert tvm_ffi.get_global_func(name)() == i
            tvm_ffi.register_global_func("test.threads.shared", lambda i=i: i, override=True)
            assert tvm_ffi.get_global_func("test.threads.shared")() in range(NUM_THREADS)
            tvm_ffi.remove_global_func(name)

    on_threads(work)
    tvm_ffi.remove_global_func("test.threads.shared")
    assert not [n for n in registry.list_global_func_names() if n.startswith("test.threads")]


def test_one_name_is_registered_by_one_thread_only(on_threads):
    def work(i):
        try:
            tvm_ffi.register_global_func("test.threads.once", lambda: i)
        except RuntimeError:
            return 0
        return 1

    try:
        assert sum(on_threads(work)) == 1
    finally:
        tvm_ffi.remove_global_func("test.threads.once")


def test_types_seen_for_the_first_time(kernels, on_threads):
    def work(i):
        for round_number in range(50):
            cls = type(f"Class{i}_{round_number}", (), {"__tvm_ffi_opaque_ptr__": lambda self: 64})
            assert kernels.payload(cls()) == 64
            value = type("Plain", (), {})()
            assert kernels.echo(value) is value

    on_threads(work)


def test_one_error_object_is_read_by_all_threads(kernels, on_threads):
    error = core.Error("ValueError", "shared", '  File "f.c", line 1, in F\n')

    def work(i):
        for _ in range(NUM_ROUNDS // 4):
            with pytest.raises(ValueError, match="shared"):
                kernels.raise_object(error)
        return error.message

    assert on_threads(work) == ["shared"] * NUM_THREADS


def test_modules_are_loaded_by_all_threads(kernel_library, on_threads):
    def work(i):
        return tvm_ffi.load_module(kernel_library, keep_module_alive=False)["count"](*range(i))

    assert on_threads(work) == list(range(NUM_THREADS))


def test_streams_stay_with_their_thread(kernels, on_threads):
    device = tvm_ffi.device("cuda", 6)

    def work(i):
        for _ in range(NUM_ROUNDS):
            with tvm_ffi.use_raw_stream(device, 100 + i):
                assert kernels.stream(2, 6).value == 100 + i
        return tvm_ffi.get_raw_stream(device)

    assert on_threads(work) == [0] * NUM_THREADS


STEP = "ffi.reflection.AccessStep"


class Shared:
    """Objects that the threads share, and the operations on them; `i` numbers the threads."""

    def __init__(self, kernels):
        self.kernels = kernels
        self.list = tvm_ffi.List(range(100))
        self.map = tvm_ffi.Map({f"key {n}": [n, f"a text on the heap {n}"] for n in range(50)})
        self.iterator = iter(tvm_ffi.Array(range(10**6)))
        self.error = core.Error("ValueError", "shared", "")
        self.make = tvm_ffi.get_global_func("ffi.MakeObjectFromPackedArgs")
        self.earlier = type(self.make(STEP, "kind", 1, "key", 0))
        self.register_class(0)

    def restore(self):
        cls = self.earlier
        if cls is tvm_ffi.Object:
            cls = type("Step", (tvm_ffi.Object,), {})
        core._register_object_by_index(core._object_type_key_to_index(STEP), cls)

    def call(self, i):
        value = [i, {"a": (2**70, "a text on the heap", np.zeros(3))}]
        assert self.kernels.echo(value)[0] == i

    def register_function(self, i):
        name = f"test.threads.all.{i}"
        tvm_ffi.register_global_func(name, lambda x: x + i, override=True)
        assert tvm_ffi.get_global_func(name)(1) == 1 + i
        tvm_ffi.remove_global_func(name)

    def register_class(self, i):
        cls = type("Step", (tvm_ffi.Object,), {"__slots__": (), "mark": i})
        core._register_object_by_index(core._object_type_key_to_index(STEP), cls)
        assert type(self.make(STEP, "kind", 1, "key", i)).mark in range(NUM_THREADS)

    def register_error(self, i):
        kind = f"TestThreads{i}"
        tvm_ffi.register_error(kind, type(kind, (ValueError,), {}))
        with pytest.raises(ValueError, match="message") as caught:
            self.kernels["raise"](kind, "message")
        assert type(caught.value).__name__ == kind
        del core.ERROR_TYPE_TO_NAME[core.ERROR_NAME_TO_TYPE.pop(kind)]

    def raise_shared_error(self, i):
        with pytest.raises(ValueError, match="shared"):
            self.kernels.raise_object(self.error)
        assert type(self.kernels.echo(self.error)) is core.Error

    def read(self, i):
        assert self.map[f"key {i}"][0] == i
        assert sum(value[0] for value in self.map.values()) == 1225
        assert next(self.iterator) < 10**6

    def change(self, i):
        self.list.append(i)
        self.list[0] = f"a text on the heap {i}"
        assert len(list(self.list)) >= 100
        self.list.pop()

    def see_new_types(self, i):
        for _ in range(5):
            value = type("Fresh", (), {"__tvm_ffi_int__": lambda self: i})()
            assert self.kernels.echo(value) == i


def test_all_operations_concurrently(kernels, on_threads):
    """In each round, each thread runs all operations on shared tables, in its own order."""
    shared = Shared(kernels)
    names = ["call", "register_function", "register_class", "register_error"]
    names += ["raise_shared_error", "read", "change", "see_new_types"]
    tasks = [getattr(shared, name) for name in names]

    def work(i):
        for round_number in range(40):
            for n in range(len(tasks)):
                tasks[(i + n + round_number) % len(tasks)](i)

    try:
        on_threads(work)
    finally:
        shared.restore()
    assert len(shared.list) == 100


def test_a_list_may_change_while_other_threads_read_it(on_threads):
    """A reader takes a reference to an element before another thread can release the element."""
    shared = tvm_ffi.List(["first element"])
    interval = sys.getswitchinterval()

    def work(i):
        if i < 3:
            for n in range(10000):
                shared[0] = f"a text on the heap {n}"
                if n % 8 == 0:
                    shared.append(n)  # sometimes moves the elements to another memory block
        else:
            for _ in range(20000):
                assert shared[0][0] in "af"

    sys.setswitchinterval(1e-5)
    try:
        on_threads(work)
    finally:
        sys.setswitchinterval(interval)
    assert len(shared) == 3751


def test_one_iterator_for_all_threads(on_threads):
    iterator = iter(tvm_ffi.Array(range(8000)))

    def work(i):
        return list(iterator)

    seen = [element for elements in on_threads(work) for element in elements]
    assert sorted(seen) == list(range(8000))


def test_importing_the_package_does_not_enable_the_gil():
    """Importing the package does not enable the GIL of free-threaded Python."""
    if not hasattr(sys, "_is_gil_enabled") or not sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("this Python cannot run without the GIL")
    assert not sys._is_gil_enabled()


def _call(name, *more):
    return lambda values: tvm_ffi.get_global_func(name)(values, *more)


WALKS = {
    "repr": repr,
    "deepcopy": copy.deepcopy,
    "hash": _call("ffi.RecursiveHash"),
    "structural-hash": _call("ffi.StructuralHash", False, False),
    "json": _call("ffi.json.Stringify", None),
    "json-graph": _call("ffi.ToJSONGraphString", None),
}


@pytest.mark.parametrize("walk", WALKS.values(), ids=WALKS)
def test_a_list_may_change_during_a_walk_of_the_runtime(walk):
    """Regression: walks ran without the GIL, and read elements that another thread had removed."""
    values = tvm_ffi.List([[i] for i in range(1000)])
    end = time.monotonic() + 0.2

    def read():
        while time.monotonic() < end:
            walk(values)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    while time.monotonic() < end:
        for i in range(200):
            values.insert(0, [i])
        values[:200] = []
    for thread in threads:
        thread.join()
    assert [value[0] for value in values] == list(range(1000))


@pytest.mark.parametrize("walk", WALKS.values(), ids=WALKS)
def test_an_inner_list_may_change_during_a_walk_of_the_runtime(walk):
    """Regression: without a GIL, walks locked the outermost container, but not inner ones."""
    inner = tvm_ffi.List([f"a text that lies on the heap, {i}" for i in range(50)])
    values = tvm_ffi.Array([[inner], inner])
    end = time.monotonic() + 0.2

    def read():
        while time.monotonic() < end:
            walk(values)

    def change():
        while time.monotonic() < end:
            for i in range(100):
                inner.append(f"another text on the heap, {i}")
            for _ in range(100):
                inner.pop()

    run_together(lambda i: change() if i < 2 else read(), 8)
    assert len(inner) == 50
