# SPDX-License-Identifier: Apache-2.0
"""Generic classes with `py_class`: field types of type variables, bounds and constraints."""

import copy
import itertools
import types
from collections.abc import Callable
from typing import Any, Generic, Optional, TypeVar, Union

import pytest

import tvm_ffi
from tvm_ffi import Object
from tvm_ffi.dataclasses import fields, py_class

T = TypeVar("T")
U = TypeVar("U")
Number = TypeVar("Number", bound=int)
IntOrText = TypeVar("IntOrText", int, str)
# Bounds of type variables that are defined later, in a test, or never.
Later = TypeVar("Later", bound="ComesLater")  # noqa: F821
Other = TypeVar("Other", bound="OtherBound")  # noqa: F821

_numbers = itertools.count()


def key(name="Type"):
    """Return a type key that no other test uses."""
    return f"test.generic.{name}{next(_numbers)}"


def box_of(annotation, *bases):
    """Return a class with one field, `content`."""
    body = {"__annotations__": {"content": annotation}, "__module__": __name__}
    made = types.new_class(
        "Box", bases or (Object, Generic[T]), {}, lambda names: names.update(body)
    )
    return py_class(key("Box"))(made)


def field_types(cls):
    return [str(entry.ty) for entry in cls.__tvm_ffi_type_info__.fields]


@pytest.mark.parametrize(
    ("annotation", "variables", "expected"),
    [
        pytest.param(T, (T,), "Any", id="free"),
        pytest.param(Number, (Number,), "int", id="bound"),
        pytest.param(IntOrText, (IntOrText,), "int | str", id="constraints"),
        pytest.param(Optional[T], (T,), "Any | None", id="optional"),
        pytest.param(Union[T, Number], (T, Number), "Any | int", id="union"),
        pytest.param(list[T], (T,), "List[Any]", id="list"),
        pytest.param(dict[str, list[Number]], (Number,), "Dict[str, List[int]]", id="nested"),
        pytest.param(tvm_ffi.Array[Number], (Number,), "Array[int]", id="array"),
        pytest.param(Callable[[T], Number], (T, Number), "Callable[[Any], int]", id="callable"),
        pytest.param(int, (T,), "int", id="none in the annotation"),
    ],
)
def test_the_type_of_a_field_with_type_variables(annotation, variables, expected):
    assert field_types(box_of(annotation, Object, Generic[variables])) == [expected]


def test_the_class_and_its_aliases_construct_objects():
    box = box_of(T)
    for make in (box, box[int], box[str]):
        made = make("text")
        assert type(made) is box
        assert made.content == "text"
    assert isinstance(box[int](1), box)
    assert copy.copy(box[int](1)).content == 1
    assert box.__parameters__ == (T,)
    assert [described.type for described in fields(box)] == [T]


def test_a_bound_is_checked():
    box = box_of(Number, Object, Generic[Number])
    with pytest.raises(TypeError, match="expected int, got str"):
        box("text")
    made = box[int](1)
    with pytest.raises(TypeError, match="expected int, got str"):
        made.content = "text"
    assert made.content == 1


def test_the_order_of_the_bases_does_not_matter():
    assert box_of(T, Generic[T], Object)(1).content == 1


def test_a_class_derives_from_one_with_arguments():
    """The base has one native layout, so its field keeps the type that the base declares."""

    @py_class(key())
    class Base(Object, Generic[T]):
        first: T

    @py_class(key())
    class Named(Base[int], Generic[U]):
        second: U

    made = Named[str](1, "text")
    assert (made.first, made.second) == (1, "text")
    assert isinstance(made, Base)
    assert Named(first="not an int", second=2).first == "not an int"


def test_fields_of_a_mixin_use_its_type_arguments():
    class Pair(Generic[T, U]):
        left: T
        right: list[U]

    class Swapped(Pair[U, T]):
        pass

    @py_class(key())
    class Direct(Object, Pair[int, str]):
        pass

    @py_class(key())
    class Through(Object, Swapped[int, str]):
        pass

    @py_class(key())
    class Open(Object, Pair[T, int], Generic[T]):
        pass

    assert field_types(Direct) == ["int", "List[str]"]
    assert field_types(Through) == ["int", "List[str]"]
    assert field_types(Open) == ["Any", "List[int]"]
    assert [described.type for described in fields(Direct)] == [int, list[str]]
    with pytest.raises(TypeError, match="expected int, got str"):
        Direct("text", [])


def test_a_field_of_a_generic_class_takes_its_objects():
    box = box_of(T)

    @py_class(key())
    class Holder(Object):
        held: box[int]

    assert Holder(box(3)).held.content == 3
    with pytest.raises(TypeError, match="expected .*Box.*, got int"):
        Holder(3)


def test_a_bound_may_come_later():
    """The definition of the class is completed later, as with any unresolved annotation."""

    @py_class(key("Waiting"))
    class Waiting(Object, Generic[Later]):
        content: Later

    with pytest.raises(TypeError, match="ComesLater"):
        Waiting(1)


def test_a_bound_that_comes_later_completes_the_class():
    @py_class(key("Holder"))
    class Holder(Object, Generic[Other]):
        content: Other

    @py_class(key("OtherBound"))
    class OtherBound(Object):
        x: int

    assert Holder(OtherBound(1)).content.x == 1
    with pytest.raises(TypeError, match="OtherBound"):
        Holder(1)


def test_an_unsupported_bound_is_refused():
    Bad = TypeVar("Bad", bound=complex)
    with pytest.raises(TypeError, match=r"Cannot convert .*complex.* \(field 'content' of Box\)"):
        box_of(Bad, Object, Generic[Bad])


def test_structural_equality_and_json_of_generic_objects():
    box = box_of(T)
    assert tvm_ffi.structural_equal(box[int](1), box[Any](1))
    assert not tvm_ffi.structural_equal(box(1), box("1"))
    text = tvm_ffi.serialization.to_json_graph_str(box([1, "a"]))
    assert list(tvm_ffi.serialization.from_json_graph_str(text).content) == [1, "a"]
