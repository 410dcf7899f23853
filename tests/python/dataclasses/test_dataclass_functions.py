# SPDX-License-Identifier: Apache-2.0
"""`fields`, `asdict`, `astuple`, `replace` and `is_dataclass` for all classes with fields."""

import copy
import sys
import typing

import pytest

import tvm_ffi
from tvm_ffi import Object, core, testing
from tvm_ffi._types.type_info import type_info_of
from tvm_ffi.dataclasses import (
    KW_ONLY,
    MISSING,
    Field,
    asdict,
    astuple,
    c_class,
    field,
    fields,
    is_dataclass,
    py_class,
    replace,
)


@py_class("test.functions.Base")
class Base(Object):
    """A base class with a frozen field."""

    a: int = field(frozen=True, metadata={"unit": "m"}, doc="length")


@py_class("test.functions.Node")
class Node(Base):
    """A class with fields of several kinds."""

    items: list[Base]
    table: dict[str, int]
    _: KW_ONLY
    note: str = "none"


def node():
    """Return a node that contains another object."""
    return Node(1, [Base(2)], {"k": 3})


def test_fields_of_a_python_defined_class():
    rows = [(x.name, x.type, x.frozen, x.kw_only, x.default) for x in fields(Node)]
    assert rows == [
        ("a", int, True, False, MISSING),
        ("items", list[Base], False, False, MISSING),
        ("table", dict[str, int], False, False, MISSING),
        ("note", str, False, True, "none"),
    ]
    assert (fields(Base)[0].metadata, fields(Base)[0].doc) == ({"unit": "m"}, "length")
    assert fields(node()) == fields(Node)


def test_fields_of_a_class_for_a_cpp_type():
    first = fields(testing.TestIntPair)[0]
    assert (type(first), first.name, first.init, first.frozen) == (Field, "a", True, True)
    assert fields(testing.TestIntPair)[0] is first


class Later:
    """A class without a native type; string annotations name it before this test sets it."""


def test_types_of_the_fields_of_a_class_for_a_cpp_type():
    """Regression: `Field.type` was the text of the annotation; `dataclass_field` was None."""
    index = core._object_type_key_to_index("testing.TestIntPair")
    original = type_info_of(index).type_cls
    try:

        @c_class("testing.TestIntPair")
        class Pair(Object):
            a: "int"
            b: "Pair | DefinedLater"  # noqa: F821

        own = [entry.dataclass_field for entry in Pair.__tvm_ffi_type_info__.fields]
        assert [(x.name, x.type, x.frozen) for x in own] == [("a", int, True), ("b", None, True)]
        assert own[0].doc == "Field `a`"
        globals()["DefinedLater"] = Later
        assert fields(Pair) == tuple(own)
        assert typing.get_args(own[1].type) == (Pair, Later)
    finally:
        globals().pop("DefinedLater", None)
        core._register_object_by_index(index, original)


@pytest.mark.parametrize("decorator", [c_class, py_class])
def test_decorators_tell_tools_that_they_make_dataclasses(decorator):
    """Regression: there was no attribute ``__dataclass_transform__`` at run time."""
    assert decorator.__dataclass_transform__ == {
        "eq_default": False,
        "order_default": False,
        "kw_only_default": False,
        "frozen_default": False,
        "field_specifiers": (field, Field),
        "kwargs": {},
    }


def test_is_dataclass():
    class Sub(Node):
        pass

    assert is_dataclass(Node)
    assert is_dataclass(node())
    assert is_dataclass(Sub)
    assert is_dataclass(testing.TestIntPair)
    assert not is_dataclass(tvm_ffi.Array)
    assert not is_dataclass(Object)
    assert not is_dataclass(3)


def test_asdict_and_astuple_return_plain_values():
    plain = {"a": 1, "items": [{"a": 2}], "table": {"k": 3}, "note": "none"}
    assert asdict(node()) == plain
    assert type(asdict(node())["items"]) is list
    assert list(asdict(node(), dict_factory=list)) == list({**plain, "items": [[("a", 2)]]}.items())
    assert astuple(node()) == (1, [(2,)], {"k": 3}, "none")
    assert astuple(node(), tuple_factory=list) == [1, [[2]], {"k": 3}, "none"]


def test_replace_writes_frozen_fields_of_a_copy():
    old = node()
    new = replace(old, a=5, note="x")
    assert (new.a, new.note, old.a, old.note) == (5, "x", 1, "none")
    assert new.items.same_as(old.items)
    with pytest.raises(AttributeError, match="has no attribute 'other'"):
        replace(old, other=1)
    with pytest.raises(TypeError, match="expected int, got str"):
        replace(old, a="x")
    if sys.version_info >= (3, 13):
        assert copy.replace(old, a=6).a == 6


@pytest.mark.parametrize("value", [3, Node, tvm_ffi.Array([])], ids=["int", "class", "container"])
def test_other_values_are_refused(value):
    for function in (asdict, astuple, replace):
        with pytest.raises(
            TypeError, match="should be called on c_class / py_class instances, got "
        ):
            function(value)
    if value is not Node:
        with pytest.raises(TypeError, match="must be a c_class or py_class type or instance"):
            fields(value)


def test_a_copied_field_shares_no_options():
    first = field(default=1, metadata={"a": 1}, extra=2)
    second = copy.copy(first)
    second.extra_kwargs.clear()
    second.metadata["a"] = 2
    assert (first.extra_kwargs, first.metadata, second.default) == ({"extra": 2}, {"a": 1}, 1)
