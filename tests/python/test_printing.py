# SPDX-License-Identifier: Apache-2.0
"""``repr`` of large containers, print options and notebook tables."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

import pytest

import tvm_ffi
from tvm_ffi import (
    Array,
    Dict,
    List,
    Map,
    get_printoptions,
    printoptions,
    set_printoptions,
    testing,
)

PAIRS = {str(i): i for i in range(1001)}
INITIAL = {"threshold": 1000, "edgeitems": 3, "precision": 6, "linewidth": 75}


@pytest.fixture(autouse=True)
def restored_options():
    assert get_printoptions() == INITIAL
    yield
    set_printoptions(**INITIAL)


# ---- Containers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("container", "text"),
    [
        (Array(range(1001)), "(0, 1, 2, ..., 998, 999, 1000)"),
        (List(range(1001)), "[0, 1, 2, ..., 998, 999, 1000]"),
        (Map(PAIRS), '{"0": 0, "1": 1, "2": 2, ..., "998": 998, "999": 999, "1000": 1000}'),
        (Dict(PAIRS), '{"0": 0, "1": 1, "2": 2, ..., "998": 998, "999": 999, "1000": 1000}'),
    ],
    ids=["Array", "List", "Map", "Dict"],
)
def test_large_containers_show_their_ends(container, text):
    assert repr(container) == text


@pytest.mark.parametrize("count", [0, 1, 6, 7, 999, 1000])
def test_containers_up_to_the_threshold_are_whole(count):
    assert repr(Array(range(count))) == repr(tuple(range(count)))
    assert repr(List(range(count))) == repr(list(range(count)))


def test_elements_of_containers_inside_count():
    rows = [[10 * i + j for j in range(7)] for i in range(143)]  # 143 elements and 1001 elements
    assert repr(Array(rows)) == (
        "((0, 1, 2, ..., 4, 5, 6), (10, 11, 12, ..., 14, 15, 16), (20, 21, 22, ..., 24, 25, 26), "
        "..., (1400, 1401, 1402, ..., 1404, 1405, 1406), (1410, 1411, 1412, ..., 1414, 1415, "
        "1416), (1420, 1421, 1422, ..., 1424, 1425, 1426))"
    )


def test_containers_are_not_abbreviated_if_nothing_is_omitted():
    with printoptions(threshold=3, edgeitems=2):
        assert repr(Array(range(4))) == "(0, 1, 2, 3)"
        assert repr(Array(range(5))) == "(0, 1, ..., 3, 4)"
        assert repr(Array([Array(range(5))])) == "((0, 1, ..., 3, 4),)"


def test_objects_show_containers_in_their_fields_shortened():
    held = testing.TestObjectDerived(v_i64=1, v_map=Map({}), v_array=Array(range(2000)))
    assert "v_array=(0, 1, 2, ..., 1997, 1998, 1999)" in repr(held)


def test_objects_shared_many_times_are_abbreviated():
    """Regression: the text of 60 shared objects has 2^60 parts; `repr` ran out of memory."""
    graph = testing.create_object("testing.TestObjectDerived", v_map={}, v_array=[7])
    for _ in range(60):
        graph = testing.create_object("testing.TestObjectDerived", v_map={}, v_array=[graph] * 2)
    text = repr(graph)
    assert len(text) < 200_000
    assert text.startswith("testing.TestObjectDerived(")
    assert "testing.TestObjectDerived(...)" in text


def test_objects_shared_a_few_times_are_whole():
    part = testing.create_object("testing.TestIntPair", a=1, b=2)
    assert repr(Array([part] * 3)) == "(" + ", ".join(["testing.TestIntPair(a=1, b=2)"] * 3) + ")"


def test_list_in_itself():
    own = List(range(2000))
    own[0] = own
    assert repr(own) == "[..., 1, 2, ..., 1997, 1998, 1999]"
    own.clear()


@pytest.mark.parametrize("edge", [1, 3, 10**6, sys.maxsize])
def test_printing_time_does_not_depend_on_omitted_elements(edge):
    shared = Array(range(10))
    for _ in range(100):  # 10^101 elements
        shared = Array([shared] * 10)
    with printoptions(edgeitems=edge):
        start = time.monotonic()
        text = repr(shared)
        assert time.monotonic() - start < 10
    assert len(text) < 10**6
    assert "(...)" in text  # the text ends after enough elements


def test_million_elements():
    start = time.monotonic()
    assert repr(Array(range(10**6))).endswith(", 999999)")
    assert time.monotonic() - start < 10


def test_native_printer_shows_everything():
    show = tvm_ffi.get_global_func("ffi.ReprPrint")
    assert show(Array(range(2000))) == repr(tuple(range(2000)))


def test_containers_printed_by_hooks_are_abbreviated():
    @tvm_ffi.dataclasses.py_class("test.printing.Box")
    class Box(tvm_ffi.Object):
        content: Any

        def __ffi_repr__(self, show):
            return f"<{show(self.content)}>"

    assert repr(Box(Array(range(3)))) == "<(0, 1, 2)>"
    assert repr(Box(Array(range(1001)))) == "<(0, 1, 2, ..., 998, 999, 1000)>"


def test_the_print_function_of_a_hook_is_refused_on_another_thread():
    """Regression: two threads changed the stack of the same walk, and the process crashed."""
    refused = []

    @tvm_ffi.dataclasses.py_class("test.printing.Lending")
    class Lending(tvm_ffi.Object):
        content: Any

        def __ffi_repr__(self, show):
            def print_as_well():
                with pytest.raises(RuntimeError, match="called on another thread"):
                    show(self.content)
                refused.append(True)

            thread = threading.Thread(target=print_as_well)
            thread.start()
            thread.join()
            return f"<{show(self.content)}>"

    assert repr(Array([Lending(Array([1])), Lending(2)])) == "(<(1,)>, <2>)"
    assert len(refused) == 2


# ---- Options -------------------------------------------------------------------------------------


def test_options_are_set_one_by_one():
    set_printoptions(threshold=5)
    set_printoptions(edgeitems=1)
    assert get_printoptions() == {**INITIAL, "threshold": 5, "edgeitems": 1}
    assert repr(Array(range(6))) == "(0, ..., 5)"


def test_context_restores_all_options_also_after_an_exception():
    def fail():
        with printoptions(threshold=0) as options:
            assert options == {**INITIAL, "threshold": 0}
            set_printoptions(precision=3)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert get_printoptions() == INITIAL


def test_everything_is_shown_on_request():
    with printoptions(threshold=sys.maxsize):
        assert repr(Array(range(5000))) == repr(tuple(range(5000)))
    with printoptions(threshold=10**30):
        assert repr(Array(range(5000))) == repr(tuple(range(5000)))


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"threshold": -1}, ValueError, "print option threshold must be >= 0, got -1"),
        ({"edgeitems": 0}, ValueError, "print option edgeitems must be >= 1, got 0"),
        ({"precision": 0}, ValueError, "print option precision must be >= 1, got 0"),
        ({"linewidth": 1.5}, TypeError, "print option linewidth must be an int, got float"),
        ({"threshold": "5"}, TypeError, "print option threshold must be an int, got str"),
    ],
)
def test_invalid_options_are_refused(options, kind, message):
    with pytest.raises(kind, match=message):
        set_printoptions(**{"precision": 9, **options})
    assert get_printoptions() == INITIAL  # the call set no option


def test_options_are_set_atomically():
    stop = threading.Event()
    seen = set()

    def read():
        while not stop.is_set():
            seen.add(repr(Array(range(20))))

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(300):
        set_printoptions(threshold=10, edgeitems=1)
        set_printoptions(threshold=1000, edgeitems=3)
    stop.set()
    for thread in threads:
        thread.join()
    assert seen <= {"(0, ..., 19)", repr(tuple(range(20)))}


# ---- Notebooks -----------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [Map, Dict])
def test_html_tables_of_mappings_are_escaped(cls):
    mapping = cls({"<script>": [1, 2], 3: "a & b"})
    assert mapping._repr_html_() == (
        f"<table><caption>{cls.__name__} of 2 pairs</caption>"
        "<tr><td>&#x27;&lt;script&gt;&#x27;</td><td>(1, 2)</td></tr>"
        "<tr><td>3</td><td>&#x27;a &amp; b&#x27;</td></tr></table>"
    )


def test_html_tables_of_large_mappings_show_the_first_and_last_pairs():
    with printoptions(threshold=3, edgeitems=1):
        assert Map({i: -i for i in range(10)})._repr_html_() == (
            "<table><caption>Map of 10 pairs</caption><tr><td>0</td><td>0</td></tr>"
            "<tr><td>...</td><td>...</td></tr><tr><td>9</td><td>-9</td></tr></table>"
        )
