# SPDX-License-Identifier: Apache-2.0
"""Identity over the life of a wrapper: threads, fork, collection, copies, moves and exit."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import sys
import textwrap
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi.dataclasses import py_class

HAS_GIL = getattr(sys, "_is_gil_enabled", lambda: True)()
needs_gil = pytest.mark.skipif(not HAS_GIL, reason="without the GIL, each result has a new wrapper")
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")


@py_class("test.identity_lifetime.Leaf")
class Leaf(tvm_ffi.Object):
    """An object with a value."""

    value: int
    child: Any = None


class Plain(Leaf):
    """A subclass without a type key of its own; its instances have attributes and finalizers."""

    __slots__ = ("__dict__",)


@pytest.mark.skipif(HAS_GIL, reason="this Python has the GIL")
def test_without_the_gil_results_are_equal_but_not_identical(echo):
    """Another thread may destroy the wrapper during the lookup, so there is no identity."""
    leaf = Leaf(1)
    array = tvm_ffi.Array([leaf])
    assert array[0] is not leaf
    assert array[0] is not array[0]
    assert echo(leaf) is not leaf
    assert array[0] == leaf == echo(leaf)
    assert hash(array[0]) == hash(leaf)
    assert array[0].same_as(leaf)
    assert {leaf: "found"}[array[0]] == "found"


# ---- threads -------------------------------------------------------------------------------------


def test_threads_that_create_and_drop_wrappers_get_the_right_objects():
    """Wrappers of the same objects are found, dropped and made again in all threads."""
    array = tvm_ffi.Array([Leaf(number) for number in range(20)])
    wrong = []
    begin = threading.Barrier(6)

    def read():
        begin.wait()
        for turn in range(3000):
            position = turn * 7 % 20
            first = array[position]
            second = array[position]
            if first.value != position or first != second or (HAS_GIL and first is not second):
                wrong.append((turn, position))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=read) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert wrong == []


@needs_gil
def test_a_wrapper_of_another_thread_is_the_result():
    array = tvm_ffi.Array([Leaf(1)])
    made = []
    thread = threading.Thread(target=lambda: made.append(array[0]))
    thread.start()
    thread.join()
    assert array[0] is made[0]


# ---- fork ----------------------------------------------------------------------------------------

FORK = """
import gc, os, sys, threading
import tvm_ffi
from typing import Any
from tvm_ffi.dataclasses import py_class

@py_class("test.identity_fork.Leaf")
class Leaf(tvm_ffi.Object):
    value: int
    child: Any = None

has_gil = getattr(sys, "_is_gil_enabled", lambda: True)()
leaves = [Leaf(number) for number in range(100)]
array = tvm_ffi.Array(leaves)
same = lambda a, b: a is b if has_gil else a == b

def check():
    assert all(same(array[i], leaves[i]) for i in range(len(leaves)))
    fresh = [Leaf(number) for number in range(500)]
    others = tvm_ffi.Array(fresh)
    assert all(same(others[i], fresh[i]) and others[i].value == i for i in range(500))
    del fresh
    gc.collect()
    assert [leaf.value for leaf in others] == list(range(500))

def forked(change):
    child = os.fork()
    if child == 0:
        try:
            change()
            check()
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    change()
    check()
    assert os.waitpid(child, 0)[1] == 0
"""


@needs_fork
@pytest.mark.parametrize(
    "change",
    ["None", "leaves.__delitem__(slice(50, None))", "leaves.reverse() or leaves.reverse()"],
)
def test_a_forked_child_has_its_own_wrappers(run_python, change):
    result = run_python(FORK + f"forked(lambda: {change})\nprint('end')\n")
    assert (result.returncode, result.stdout, result.stderr) == (0, "end\n", "")


@needs_fork
def test_a_child_of_a_thread_has_its_own_wrappers(run_python):
    """Another thread makes and drops wrappers at the moment of the fork."""
    code = """
    import warnings
    warnings.simplefilter("ignore")  # Python 3.12 warns of forks in programs with threads
    busy = True
    def churn():
        while busy:
            held = [Leaf(number) for number in range(50)]
    churning = threading.Thread(target=churn)
    churning.start()
    for _ in range(5):
        thread = threading.Thread(target=forked, args=(lambda: None,))
        thread.start()
        thread.join()
    busy = False
    churning.join()
    print("end")
    """
    result = run_python(FORK + textwrap.dedent(code))
    assert (result.returncode, result.stdout, result.stderr) == (0, "end\n", "")


@needs_fork
def test_a_child_that_exits_normally_releases_its_wrappers(run_python):
    """The child runs the finalizers of the interpreter with wrappers of the parent."""
    code = """
    child = os.fork()
    if child == 0:
        leaves[0].child = leaves[1]
        sys.exit(0 if same(leaves[0].child, leaves[1]) else 3)
    assert os.waitpid(child, 0)[1] == 0
    assert leaves[0].child is None
    check()
    print("end")
    """
    result = run_python(FORK + textwrap.dedent(code))
    assert (result.returncode, result.stdout, result.stderr) == (0, "end\n", "")


# ---- resurrection --------------------------------------------------------------------------------


class Returning(Plain):
    """Instances store themselves when they are finalized."""

    kept: list[Any] = []  # noqa: RUF012  (not a field)

    def __del__(self):
        self.kept.append(self)


@pytest.fixture
def kept():
    Returning.kept.clear()
    yield Returning.kept
    Returning.kept.clear()


@needs_gil
def test_a_wrapper_that_stores_itself_in_its_finalizer_stays_the_result(kept):
    leaf = Returning(1)
    leaf.note = "mine"
    array = tvm_ffi.Array([leaf])
    address = id(leaf)
    del leaf
    assert id(kept[0]) == address
    assert array[0] is kept[0]
    assert array[0].note == "mine"
    kept.clear()  # Python calls a finalizer once, so the wrapper is destroyed now
    gc.collect()
    assert kept == []
    assert type(array[0]) is Leaf
    assert array[0].value == 1


@needs_gil
def test_a_wrapper_that_the_collector_finalizes_may_store_itself(kept):
    leaf = Returning(1)
    leaf.itself = leaf
    array = tvm_ffi.Array([leaf])
    del leaf
    gc.collect()
    assert array[0] is kept[0]
    assert array[0].itself is kept[0]
    assert array[0].value == 1


@needs_gil
def test_the_only_owner_of_an_object_may_store_itself(kept, echo):
    leaf = Returning(7)
    del leaf
    assert kept[0].value == 7
    assert echo(kept[0]) is kept[0]
    assert tvm_ffi.Array([kept[0]])[0] is kept[0]


# ---- weak references and garbage collection ------------------------------------------------------


@needs_gil
def test_a_weak_reference_gives_the_wrapper_that_results_are():
    leaf = Leaf(1)
    array = tvm_ffi.Array([leaf])
    reference = weakref.ref(leaf)
    names = weakref.WeakKeyDictionary({leaf: "name"})
    assert reference() is array[0]
    assert names[array[0]] == "name"
    del leaf
    assert reference() is None
    assert len(names) == 0
    assert array[0].value == 1


@needs_gil
def test_garbage_collection_between_results_changes_nothing():
    array = tvm_ffi.Array([Leaf(1), tvm_ffi.List([2]), np.zeros(3)])
    held = [array[0], array[1], array[2]]
    for _ in range(3):
        gc.collect()
        assert all(array[i] is held[i] for i in range(3))
    cycle = Plain(5)
    cycle.itself = cycle
    holder = tvm_ffi.Array([cycle])
    gc.collect()
    assert holder[0] is cycle
    reference = weakref.ref(cycle)
    del cycle
    gc.collect()
    assert reference() is None
    assert (type(holder[0]), holder[0].value) == (Leaf, 5)


@needs_gil
def test_objects_during_a_collection_are_those_of_the_program():
    """Callbacks of the collector run while other code is between a result and its first use."""
    array = tvm_ffi.Array([Leaf(number) for number in range(5)])
    seen = []

    def look(phase, info):
        seen.append(array[2].value)

    gc.callbacks.append(look)
    try:
        for _ in range(200):
            first = array[2]
            Plain(1).itself = first
            gc.collect(0)
            assert array[2] is first
    finally:
        gc.callbacks.remove(look)
    assert set(seen) == {2}


# ---- copies and pickles --------------------------------------------------------------------------


@needs_gil
def test_a_shallow_copy_shares_the_wrappers_of_its_elements():
    leaf = Leaf(1, tvm_ffi.Array([1]))
    for container in (tvm_ffi.Array([leaf]), tvm_ffi.List([leaf])):
        assert copy.copy(container)[0] is leaf
    assert copy.copy(tvm_ffi.Dict({"key": leaf}))["key"] is leaf
    copied = copy.copy(leaf)
    assert copied is not leaf
    assert copied.child is leaf.child


@needs_gil
@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))]
)
def test_deep_copies_and_pickles_keep_what_is_shared(duplicate):
    leaf = Leaf(1)
    first, array, again = duplicate([leaf, tvm_ffi.Array([leaf]), leaf])
    assert first is again
    assert first is not leaf
    assert first.value == 1
    assert array[0] is array[0]
    shared = duplicate(tvm_ffi.Array([leaf, leaf]))
    assert shared[0] is shared[1]


# ---- moves ---------------------------------------------------------------------------------------


@needs_gil
def test_objects_at_the_address_of_a_moved_object_get_their_own_wrappers(kernels):
    """A wrapper that a move has emptied keeps its entry in the table."""
    emptied = []
    for number in range(300):
        leaf = Leaf(number)
        kernels.take(leaf._move())
        assert leaf.__chandle__() == 0
        emptied.append(leaf)
        fresh = Leaf(number + 1000)
        array = tvm_ffi.Array([fresh])
        assert array[0] is fresh
        assert array[0].value == number + 1000


@needs_gil
def test_a_moved_object_that_comes_back_is_the_result_from_then_on(echo):
    leaf = Leaf(1)
    reference = weakref.ref(leaf)
    array = tvm_ffi.Array([1])
    back = echo(leaf._move())
    array = tvm_ffi.Array([back])
    assert array[0] is back
    assert back.value == 1
    del leaf
    gc.collect()
    assert array[0] is back
    assert reference() in (None, back)


# ---- exit ----------------------------------------------------------------------------------------

EXIT = """
import atexit, gc, sys, threading, weakref
import tvm_ffi
from typing import Any
from tvm_ffi.dataclasses import py_class

@py_class("test.identity_exit.Leaf")
class Leaf(tvm_ffi.Object):
    value: int
    child: Any = None

class Plain(Leaf):
    __slots__ = ("__dict__",)

leaf = Leaf(1)
array = tvm_ffi.Array([leaf, leaf])
"""


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("sys.modules['kept'] = [array[0], array]", []),
        ("cycle = Plain(2, array); cycle.itself = cycle; array = tvm_ffi.Array([cycle])", []),
        ("atexit.register(lambda a=array: print(a[0] == a[1], a[0].value))", ["True 1"]),
        (
            """
Plain.__del__ = lambda self, array=array, print=print: print(array[0].value)
last = Plain(3)
last.itself = last
""",
            ["1"],
        ),
        ("keeper = tvm_ffi.convert(lambda: leaf); tvm_ffi.register_global_func('k', keeper)", []),
        ("weakref.finalize(leaf, print, 'finalized')", ["finalized"]),
        (
            """
def read():
    while True:
        array[0].value

threading.Thread(target=read, daemon=True).start()
""",
            [],
        ),
        ("leaf.child = tvm_ffi.List([leaf]); del leaf, array; sys.exit()", []),
        ("kept = []\nPlain.__del__ = lambda self: kept.append(self)\nleaf = Plain(4)", []),
    ],
    ids=[
        "modules",
        "cycle",
        "atexit",
        "finalizer",
        "native-owner",
        "weakref",
        "daemon",
        "native-cycle",
        "resurrected",
    ],
)
def test_the_interpreter_ends_with_living_wrappers(run_python, code, lines):
    result = run_python(EXIT + code + "\n")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines() == lines
