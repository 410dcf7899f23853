# SPDX-License-Identifier: Apache-2.0
"""`unpack_dataclass_to_tuple`: dataclasses as tuples."""

from __future__ import annotations

import collections
import dataclasses
import gc
import threading
import typing
import weakref
from dataclasses import dataclass, field, make_dataclass
from typing import Any, ClassVar, NamedTuple, Optional, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvm_ffi.utils.unpack_dataclass import UNPACK, unpack_dataclass_to_tuple


@dataclass
class Point:
    x: int
    y: str = "y"


@dataclass
class Deep:
    point: Point
    points: list
    anything: Any
    by_name: dict


@dataclass
class Node:
    value: int
    next: Node | None = None


@dataclass
class Derived(Point):
    z: int = 3


@dataclass
class Special:
    x: int
    shared: ClassVar[int] = 3
    init: dataclasses.InitVar[int] = 4
    later: int = field(default=9, init=False)


class Pair(NamedTuple):
    first: Any
    second: Any


class Words(list):
    pass


class Triple(tuple):
    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Point(1), (1, "y")),
        (make_dataclass("Empty", [])(), ()),
        (make_dataclass("Single", ["x"])(Point(1)), ((1, "y"),)),
        (make_dataclass("SingleLeaf", [("x", int)])(5), (5,)),
        (
            Deep(Point(1), [Point(2)], Point(3), {"k": Point(4)}),
            ((1, "y"), [(2, "y")], (3, "y"), {"k": (4, "y")}),
        ),
        (Node(1, Node(2, Node(3))), (1, (2, (3, None)))),
        (Derived(1), (1, "y", 3)),
        (Special(1), (1, 9)),
        ([[Point(1)], ()], [[(1, "y")], ()]),
        ((Point(1), 2), ((1, "y"), 2)),
        (Pair(Point(1), 2), Pair((1, "y"), 2)),
        (Words([Point(1)]), Words([(1, "y")])),
        (Triple([Point(1)]), Triple([(1, "y")])),
        (collections.OrderedDict(a=Point(1)), {"a": (1, "y")}),
        (collections.defaultdict(list, a=Point(1)), {"a": (1, "y")}),
        (Point, Point),
        (None, None),
        ({1}, {1}),
    ],
    ids=repr,
)
def test_values(value, expected):
    result = unpack_dataclass_to_tuple(value)
    assert result == expected
    assert type(result) is type(expected)


def test_other_values_are_the_same_objects():
    for value in (object(), {1, 2}, "text", 1.5, len, Point):
        assert unpack_dataclass_to_tuple(value) is value
    part = object()
    assert unpack_dataclass_to_tuple(make_dataclass("Holder", ["part"])(part))[0] is part


def test_containers_are_new():
    for value in ([1], {"a": 1}):
        result = unpack_dataclass_to_tuple(value)
        assert result == value
        assert result is not value


def test_fields_declared_with_plain_types_are_not_converted():
    """Values are trusted to have their declared types; unions of plain types are plain."""

    @dataclass
    class Lying:
        a: int
        b: int
        c: Optional[str]  # noqa: UP045
        d: Union[int, Point]  # noqa: UP007
        e: typing.List[int]  # noqa: UP006
        f: not_defined_anywhere  # noqa: F821

    point = Point(1)
    lying = Lying(point, point, point, point, [point], point)
    # One name has no value, so all annotations stay strings, which are not plain types.
    assert unpack_dataclass_to_tuple(lying) == ((1, "y"),) * 4 + ([(1, "y")], (1, "y"))
    honest = make_dataclass(
        "Honest",
        [("a", int), ("c", Optional[str]), ("d", Union[int, Point]), ("e", list[int])],
    )
    result = unpack_dataclass_to_tuple(honest(point, point, point, [point]))
    assert result[0] is point
    assert result[1] is point
    assert result[2:] == ((1, "y"), [(1, "y")])


def test_classes_without_dict():
    cls = make_dataclass("Slotted", [("x", Any)], namespace={"__slots__": ("x",)})
    assert unpack_dataclass_to_tuple(cls(Point(1))) == ((1, "y"),)


def test_cycles_and_deep_nesting_are_a_recursion_error():
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(RecursionError):
        unpack_dataclass_to_tuple(loop)
    node = None
    for i in range(100_000):
        node = Node(i, node)
    with pytest.raises(RecursionError):
        unpack_dataclass_to_tuple(node)
    while node is not None:
        node = node.next


def test_classes_are_not_kept_alive():
    cls = make_dataclass("Temporary", ["x"])
    unpack_dataclass_to_tuple(cls(1))
    alive = weakref.ref(cls)
    del cls
    gc.collect()
    assert alive() is None


def test_threads():
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(unpack_dataclass_to_tuple(Node(1))))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [(1, None)] * 8


def by_hand(value):
    """Return the expected tuple, computed from the values without declared types."""
    if dataclasses.is_dataclass(value):
        return tuple(by_hand(getattr(value, f.name)) for f in dataclasses.fields(value))
    if isinstance(value, Pair):
        return Pair(*map(by_hand, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(by_hand, value))
    if isinstance(value, dict):
        return {key: by_hand(part) for key, part in value.items()}
    return value


HOLDER = make_dataclass("HOLDER", ["left", ("right", Any)])
VALUES = st.recursive(
    st.none() | st.integers() | st.text() | st.builds(Point, st.integers(), st.text()),
    lambda parts: (
        st.lists(parts, max_size=3)
        | st.builds(HOLDER, parts, parts)
        | st.builds(Pair, parts, parts)
        | st.tuples(parts, parts)
        | st.dictionaries(st.text(), parts, max_size=3)
    ),
)


@given(VALUES)
def test_agrees_with_a_reference_implementation(value):
    assert unpack_dataclass_to_tuple(value) == by_hand(value)


def test_constant():
    assert UNPACK == "unpack"
