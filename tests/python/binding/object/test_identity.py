# SPDX-License-Identifier: Apache-2.0
"""Identity: an object that has a live wrapper is returned as this wrapper."""

from __future__ import annotations

import gc
import pickle
import sys
import weakref
from typing import Any

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import core
from tvm_ffi.core import CObject
from tvm_ffi.dataclasses import py_class

pytestmark = pytest.mark.skipif(
    not getattr(sys, "_is_gil_enabled", lambda: True)(),
    reason="without the GIL, each result has a new wrapper",
)


@py_class("test.identity.Node")
class Node(tvm_ffi.Object):
    value: int
    child: Any = None


class Tagged(Node):
    """A subclass that is not registered, with attributes in the wrapper."""

    __slots__ = ("__dict__",)


MAKERS = {
    "array": lambda: tvm_ffi.Array([1]),
    "list": lambda: tvm_ffi.List([1]),
    "map": lambda: tvm_ffi.Map({"a": 1}),
    "dict": lambda: tvm_ffi.Dict({"a": 1}),
    "function": lambda: tvm_ffi.convert(lambda x: x),
    "tensor": lambda: tvm_ffi.from_dlpack(np.zeros(2)),
    "error": lambda: core.Error("ValueError", "text", ""),
    "py_class": lambda: Node(1),
}


@pytest.fixture(params=list(MAKERS))
def thing(request):
    return MAKERS[request.param]()


def test_a_result_is_the_wrapper_that_was_passed(echo, thing):
    assert echo(thing) is thing


def test_a_callback_gets_the_wrapper_of_the_caller_and_returns_it(thing):
    seen = []
    function = tvm_ffi.convert(lambda x: (seen.append(x), x)[1])
    assert function(thing) is thing
    assert seen[0] is thing


def test_elements_are_the_wrappers_that_were_stored(thing):
    assert tvm_ffi.Array([thing])[0] is thing
    assert tvm_ffi.Map({"key": thing})["key"] is thing
    assert next(iter(tvm_ffi.List([thing]))) is thing


def test_an_element_read_twice_is_one_wrapper(thing):
    array = tvm_ffi.Array([thing])
    del thing
    gc.collect()
    first = array[0]
    assert array[0] is first


def test_fields_are_the_wrappers_that_were_stored():
    inner = Node(1)
    outer = Node(2, inner)
    assert outer.child is inner
    outer.child = outer
    assert outer.child is outer
    outer.child = None


def test_modules_have_one_wrapper(echo, kernels):
    assert echo(kernels) is kernels
    assert pickle.loads(pickle.dumps(kernels)) is kernels


def test_attributes_of_a_subclass_are_kept_while_the_wrapper_lives(echo):
    node = Tagged(1)
    node.note = "mine"
    array = tvm_ffi.Array([node])
    assert array[0] is node
    assert echo(node).note == "mine"
    del node
    assert type(array[0]) is Node


def test_a_wrapper_older_than_the_class_of_its_object_is_not_returned(echo):
    node = Node(3)
    plain = CObject.__new__(CObject)
    plain.__move_handle_from__(node)
    first = echo(plain)
    assert type(first) is Node
    assert echo(plain) is first
    assert first == plain


def test_two_wrappers_of_one_object_stay_two():
    node = Node(1)
    array = tvm_ffi.Array([node])
    second = Node.__new__(Node)
    second.__move_handle_from__(array[0])
    assert second is not node
    assert second == node
    assert node.value == 1
    assert array[0] is node
    del node
    assert array[0] == second


def test_a_constructor_that_returns_an_existing_object_empties_no_wrapper():
    shared = Node(7)
    holder = tvm_ffi.Array([shared])

    class Singleton(Node):
        def __init__(self):
            self.__init_handle_by_constructor__(lambda: holder[0])

    made = [Singleton(), Singleton()]
    assert [node.value for node in made] == [7, 7]
    assert shared.value == 7
    assert holder[0] is shared


# ---- moves ---------------------------------------------------------------------------------------


def test_a_moved_wrapper_is_not_returned_again(echo, kernels):
    array = tvm_ffi.Array([1])
    moved = echo(array._move())
    assert moved is not array or array.__chandle__() != 0
    assert list(moved) == [1]
    assert echo(moved) is moved


def test_a_move_empties_no_wrapper_that_other_code_uses(echo, kernels):
    array = tvm_ffi.Array([1])
    others = [echo(array), echo(array)]
    kernels.take(array._move())
    assert list(others[0]) == [1]


def test_a_move_of_an_element_empties_no_wrapper(kernels):
    array = tvm_ffi.Array([tvm_ffi.Array([1])])
    held = array[0]
    kernels.take(array[0]._move())
    assert list(held) == [1]
    assert array[0] is held


def test_a_wrapper_that_has_one_user_again_is_moved(echo, kernels):
    array = tvm_ffi.Array([1])
    assert echo(array) is array
    kernels.take(array._move())
    assert array.__chandle__() == 0


def test_a_moved_reference_that_native_code_keeps_gets_a_new_wrapper(echo):
    """The emptied wrapper keeps its place in the table, which must not be mistaken for another."""
    wrappers = []
    for number in range(200):
        node = Node(number)
        array = tvm_ffi.Array([node])
        second = echo(node._move())
        wrappers.append((node, second, array))
    for number, (_, second, array) in enumerate(wrappers):
        assert array[0] == second
        assert array[0].value == number
    del wrappers, node, second, array
    gc.collect()
    assert Node(5).value == 5


# ---- destruction ---------------------------------------------------------------------------------


def test_weakref_callbacks_do_not_get_the_dying_wrapper():
    node = Node(1)
    array = tvm_ffi.Array([node])
    seen = []
    reference = weakref.ref(node, lambda _: seen.append(array[0]))
    address = id(node)
    del node
    assert reference() is None
    assert seen[0].value == 1
    assert id(seen[0]) != address
    assert array[0] is seen[0]


def test_a_finalizer_can_resurrect_its_wrapper():
    kept = []

    class Resurrected(Node):
        def __del__(self):
            kept.append(array[0])

    node = Resurrected(1)
    array = tvm_ffi.Array([node])
    del node
    assert type(kept[0]) is Resurrected
    assert kept[0].value == 1
    assert array[0] is kept[0]


def test_memory_that_is_used_again_has_no_stale_wrapper():
    for number in range(2000):
        node = Node(number)
        array = tvm_ffi.Array([node])
        assert array[0] is node
        kept = node if number % 7 else array
        assert array[0].value == number
        del node, array
        assert kept is not None


def test_many_wrappers_are_found(echo):
    nodes = [Node(number) for number in range(5000)]
    array = tvm_ffi.Array(nodes)
    assert all(array[i] is nodes[i] for i in range(5000))
    del nodes[::2]
    gc.collect()
    assert all(array[2 * i + 1] is nodes[i] for i in range(2500))
    assert [array[i].value for i in range(0, 5000, 2)] == list(range(0, 5000, 2))


# ---- wrappers with settings ----------------------------------------------------------------------


def test_each_lookup_of_a_global_function_has_its_settings():
    first = tvm_ffi.get_global_func("ffi.ModuleLoadFromFile")
    second = tvm_ffi.get_global_func("ffi.ModuleLoadFromFile")
    first.release_gil = False
    assert first is not second
    assert second.release_gil is True


def test_pickles_and_copies_are_other_wrappers():
    node = Node(1)
    assert pickle.loads(pickle.dumps(node)) is not node
    assert pickle.loads(pickle.dumps(node)).value == 1
    assert hash(tvm_ffi.Array([node])[0]) == hash(node)


def test_containers_with_another_framework_have_another_wrapper(echo):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    plain = tvm_ffi.Array([tvm_ffi.from_dlpack(np.zeros(2))])
    pair = tvm_ffi.convert(lambda x, tensor: x)
    assert type(plain[0]) is tvm_ffi.Tensor
    other = pair(plain, torch.zeros(1))
    assert type(plain[0]) is tvm_ffi.Tensor
    assert other.same_as(plain)
    assert echo(plain) is plain
