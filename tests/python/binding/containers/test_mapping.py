# SPDX-License-Identifier: Apache-2.0
"""Map and Dict: lookup, insertion order, mutation and key hooks."""

from __future__ import annotations

import collections
import collections.abc

import pytest

import tvm_ffi
import tvm_ffi.dataclasses
from tvm_ffi import Dict, Map


@pytest.fixture(params=[Map, Dict])
def mapping(request):
    return request.param


@pytest.mark.parametrize("count", [0, 1, 2, 4, 5, 16, 100, 10_000])
def test_pairs_in_order_of_insertion(mapping, count):
    model = {f"key number {i}" if i % 2 else i: i * i for i in range(count)}
    made = mapping(model)
    assert len(made) == count
    assert list(made) == list(model)
    assert list(made.values()) == list(model.values())
    assert list(made.items()) == list(model.items())
    assert all(made[key] == value for key, value in model.items())
    assert "absent" not in made


def test_mapping_protocol(mapping):
    made = mapping({"a": 1, "b": None})
    assert isinstance(made, collections.abc.Mapping)
    assert made["a"] == 1
    assert made.get("a") == 1
    assert made.get("b", 3) is None
    assert made.get("c") is None
    assert made.get("c", 5) == 5
    assert made.keys() & {"a", "z"} == {"a"}
    assert ("a", 1) in made.items()
    assert 1 in made.values()
    assert len(made.items()) == 2
    assert dict(made) == {"a": 1, "b": None}
    assert "keys(['a', 'b'])" in repr(made.keys())
    with pytest.raises(KeyError, match="c"):
        made["c"]


def test_keys_compare_by_type_and_value(mapping):
    nan = float("nan")
    made = mapping(collections.OrderedDict([(1, "int"), ("1", "str"), (b"1", "bytes"), (nan, 0)]))
    assert made[1] == "int"
    assert made["1"] == "str"
    assert made[b"1"] == "bytes"
    assert made[nan] == 0
    assert 1.0 not in made
    assert True not in made
    assert made.get(1 << 70) is None


def test_map_equality():
    assert Map({"a": [1], "b": 2}) == Map({"b": 2, "a": [1]})
    assert Map({"a": 1}) != Map({"a": True})
    assert Map({"a": 1}) != {"a": 1}
    assert hash(Map({"a": 1})) == hash(Map({"a": 1}))


def test_map_is_immutable():
    made = Map({"a": 1})
    with pytest.raises(TypeError):
        made["b"] = 1
    with pytest.raises(TypeError):
        del made["a"]
    with pytest.raises(AttributeError):
        Map([("a", 1)])


def test_dict_changes_like_a_dict():
    made, model = Dict(), {}
    for change in (
        lambda x: x.__setitem__("a", 1),
        lambda x: x.update({"b": 2, "c": 3}),
        lambda x: x.setdefault("d", 4),
        lambda x: x.setdefault("a", 9),
        lambda x: x.pop("b"),
        lambda x: x.pop("none", None),
        lambda x: x.__delitem__("c"),
        lambda x: x.update((str(i), i) for i in range(20)),
    ):
        change(made)
        change(model)
        assert dict(made) == model
        assert list(made) == list(model)
    for missing in (lambda: made.pop("zz"), lambda: made.__delitem__("zz"), lambda: made["zz"]):
        with pytest.raises(KeyError, match="zz"):
            missing()
    made.clear()
    assert len(made) == 0


def test_dicts_are_shared(kernels):
    made = Dict({"a": 1})
    kernels.echo(made)["b"] = 2
    assert dict(made) == {"a": 1, "b": 2}


@pytest.mark.parametrize("count", [2, 4, 5, 40])
def test_changing_a_dict_during_iteration_raises(count):
    made = Dict({i: i for i in range(count)})
    iterator = iter(made)
    next(iterator)
    made["new"] = 1
    with pytest.raises(RuntimeError, match="Dict changed during iteration"):
        next(iterator)


class _Hooks:
    """Stores the function that the key hooks below call; nested hook calls do not call it."""

    change = None
    is_inside = False

    @classmethod
    def run(cls):
        if cls.change is not None and not cls.is_inside:
            cls.is_inside = True
            try:
                cls.change()
            finally:
                cls.is_inside = False


@tvm_ffi.dataclasses.py_class("test.container.ChangingKey")
class _ChangingKey(tvm_ffi.Object):
    value: int

    def __any_hash__(self):
        _Hooks.run()
        return self.value

    def __any_equal__(self, other):
        _Hooks.run()
        return self.value == other.value


class _WrongHook:
    hash_result: object = 1
    equal_result: object = True


@tvm_ffi.dataclasses.py_class("test.container.WrongHookKey")
class _WrongHookKey(tvm_ffi.Object):
    value: int

    def __any_hash__(self):
        return _WrongHook.hash_result

    def __any_equal__(self, other):
        return _WrongHook.equal_result


def test_key_hooks_that_return_another_type_raise(monkeypatch):
    """Regression: the address of a str served as its hash, and the key was never found again."""
    table = Dict({i: i for i in range(50)})
    monkeypatch.setattr(_WrongHook, "hash_result", "a string of more than eight bytes")
    with pytest.raises(TypeError, match=r"`__any_hash__` must return an int or bool, got ffi.Str"):
        table[_WrongHookKey(1)] = 1
    monkeypatch.undo()
    table[_WrongHookKey(1)] = 1
    monkeypatch.setattr(_WrongHook, "equal_result", None)
    with pytest.raises(TypeError, match=r"`__any_equal__` must return an int or bool, got None"):
        table[_WrongHookKey(2)] = 1
    assert len(table) == 51


@pytest.mark.parametrize("size", [3, 4, 7, 15, 40])
@pytest.mark.parametrize("change", ["clear", "grow"])
def test_key_hooks_that_change_their_dict_raise(size, change):
    """Regression: lookups kept slot numbers across hook calls; growth copied freed entries."""
    table = Dict({_ChangingKey(i): i for i in range(size)})

    def grow():
        for _ in range(3):
            table[_ChangingKey(1000 + len(table))] = 1

    _Hooks.change = table.clear if change == "clear" else grow
    message = r"the Map or Dict changed while `__any_(hash|equal)__` of a key was running"
    try:
        for call in (
            lambda: table[_ChangingKey(1)],
            lambda: _ChangingKey(1) in table,
            lambda: table.__setitem__(_ChangingKey(1), 2),
            lambda: table.pop(_ChangingKey(1)),
        ):
            if len(table) > 0:
                with pytest.raises(RuntimeError, match=message):
                    call()
        for i in range(70):  # the table grows several times in this loop
            if len(table) > 4:
                with pytest.raises(RuntimeError, match=message):
                    table[_ChangingKey(500 + i)] = 1
    finally:
        _Hooks.change = None
    assert len(list(table.items())) == len(table)
    assert [table[key] for key in table] == list(table.values())


def test_replacing_keys_during_iteration_raises():
    """The sizes before and after are equal; only the changed slots show that the dict changed."""
    made = Dict({i: i for i in range(40)})
    iterator = iter(made.items())
    next(iterator)
    for i in range(1, 40):
        del made[i]
        made[100 + i] = i
    with pytest.raises(RuntimeError, match="Dict changed during iteration"):
        list(iterator)


def test_assigning_existing_keys_during_iteration_is_allowed():
    made = Dict({i: i for i in range(40)})
    for key in made:
        made[key] = 0
    assert len(made) == 40


def test_items_of_a_dict_subclass_must_be_pairs():
    """Regression: the items were flattened, then read alternately as key and value."""

    class Triples(dict):
        def items(self):
            return [(1, 2, 3), (4, 5, 6)]

    with pytest.raises(ValueError, match="too many values to unpack"):
        tvm_ffi.Map(Triples({1: 2}))


class Key:
    """A key whose conversion changes the dict."""

    def __init__(self, *changes):
        self.changes = list(changes)

    def __tvm_ffi_value__(self):
        if self.changes:
            self.changes.pop(0)()
        return "a"


@pytest.mark.parametrize("num_kept", [0, 1, 2])
def test_pop_with_a_key_whose_conversion_clears_the_dict(num_kept):
    """Regression: `pop` with a default raised KeyError if its key vanished between two lookups."""

    def cleared():
        made = Dict({"a": 1, "b": 2})
        return made, Key(*[lambda: None] * num_kept, made.clear)

    made, key = cleared()
    assert made.pop(key, "absent") == ("absent" if num_kept == 0 else 1)
    assert dict(made) == ({"b": 2} if num_kept == 2 else {})
    made, key = cleared()
    assert made.setdefault(key, 7) == (7 if num_kept == 0 else 1)
    made, key = cleared()
    made[key] = 7
    assert made["a"] == 7
    for act in (Dict.pop, Dict.__getitem__, Dict.__delitem__):
        made, _ = cleared()
        with pytest.raises(KeyError):
            act(made, Key(made.clear))


def test_dicts_cleared_during_a_comparison_are_not_equal():
    class Equal:
        def __init__(self, change):
            self.change = change

        __hash__ = None

        def __eq__(self, other):
            self.change()
            return True

    made, other = Dict({"a": None}), Dict()
    other["a"] = Equal(other.clear)
    assert (made == other) is False
