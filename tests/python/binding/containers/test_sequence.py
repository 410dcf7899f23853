# SPDX-License-Identifier: Apache-2.0
"""Array and List: indices, slices, equality, mutation and iteration."""

from __future__ import annotations

import collections
import collections.abc
import typing

import numpy as np
import pytest

import tvm_ffi
import tvm_ffi.dataclasses
from tvm_ffi import Array, Dict, List, Map


@pytest.fixture(params=[Array, List])
def sequence(request):
    return request.param


def test_elements_are_read_as_python_values(sequence):
    text = "longer than seven bytes"
    values = [1, True, 2.5, None, "short", text, b"bytes", 1 << 80, tvm_ffi.Shape((1, 2))]
    made = sequence(values)
    assert list(made) == values
    assert [type(value) for value in made][:6] == [int, bool, float, type(None), str, str]
    assert len(made) == len(values)
    assert made[-1] == (1, 2)


def test_indexing(sequence):
    made = sequence("abcde")
    assert (made[0], made[4], made[-5], made[np.int64(1)], made[True]) == ("a", "e", "a", "b", "b")
    assert made[1:4] == ["b", "c", "d"]
    assert made[::-2] == ["e", "c", "a"]
    assert made[10:] == []
    for index in (5, -6, 1 << 70):
        with pytest.raises(IndexError):
            made[index]
    with pytest.raises(IndexError, match="Index out of range. size: 5, got index 5"):
        made[5]
    with pytest.raises(TypeError, match="indices must be integers or slices, not str"):
        made["a"]


def test_sequence_protocol(sequence):
    made = sequence([1, 2, 1, 3])
    assert isinstance(made, collections.abc.Sequence)
    assert made.count(1) == 2
    assert made.index(3) == 3
    assert list(reversed(made)) == [3, 1, 2, 1]
    assert 2 in made
    assert 4 not in made
    assert bool(made)
    assert not sequence([])
    more = [4]
    assert made + more == sequence([1, 2, 1, 3, 4])
    assert type(more + made) is sequence
    with pytest.raises(ValueError, match="^$"):
        made.index(9)
    assert typing.get_args(sequence[int]) == (int,)


@pytest.mark.parametrize("cls", [Array, List, Map, Dict])
def test_arguments_of_generic_bases_are_types(cls):
    """Run-time type checkers read the type arguments and cannot resolve strings."""
    arguments = [
        argument
        for base in typing.cast("typing.Any", cls).__orig_bases__
        for argument in typing.get_args(base)
    ]
    assert arguments
    assert all(isinstance(argument, type) for argument in arguments)


def test_equality_is_by_type_and_value(sequence):
    assert sequence([1, 2]) == [1, 2] == sequence((1, 2))
    assert sequence([1]) != [1.0]
    assert sequence([1]) != [True]
    assert sequence([1]) != sequence([1, 1])
    assert sequence(["a"]) != "a"
    assert sequence([[1], [2]]) == [[1], (2,)]
    assert sequence([float("nan")]) == [float("nan")]
    assert 1.0 not in sequence([1])
    assert Array([1]) == List([1])
    assert sequence([1]) != 1


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Array([1, "a", [2.5], None]), '(1, "a", (2.5,), None)'),
        (List([1, b"x"]), '[1, b"x"]'),
        (Map({"a": 1, 2: True}), '{"a": 1, 2: True}'),
        (Dict(), "{}"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_repr(value, text):
    assert repr(value) == text


def test_hashes():
    assert hash(Array([1, "a"])) == hash((1, "a"))
    assert {Array([1, 2]): "x"}[(1, 2)] == "x"
    for mutable in (List([1]), Dict({1: 1}), Array([List()])):
        with pytest.raises(TypeError, match="unhashable"):
            hash(mutable)


def test_array_is_immutable():
    made = Array([1])
    with pytest.raises(TypeError):
        made[0] = 2
    with pytest.raises(TypeError):
        del made[0]
    assert not hasattr(made, "append")


def test_iterables_only(sequence):
    assert list(sequence(range(3))) == [0, 1, 2]
    assert list(sequence(iter("ab"))) == ["a", "b"]
    assert list(sequence({"k": 1})) == ["k"]
    with pytest.raises(TypeError, match="not iterable"):
        sequence(3)


def test_list_changes_like_a_list():
    made, model = List(range(5)), list(range(5))
    for change in (
        lambda x: x.append(9),
        lambda x: x.extend([1, 2]),
        lambda x: x.insert(1, "i"),
        lambda x: x.insert(-100, "first"),
        lambda x: x.insert(100, "last"),
        lambda x: x.pop(),
        lambda x: x.pop(2),
        lambda x: x.remove(9),
        lambda x: x.reverse(),
        lambda x: x.__setitem__(-1, 7),
        lambda x: x.__setitem__(slice(1, 3), [8, 8, 8]),
        lambda x: x.__setitem__(slice(None, None, 3), list(x)[::3][::-1]),
        lambda x: x.__setitem__(slice(3, 1), ["x"]),
        lambda x: x.__delitem__(0),
        lambda x: x.__delitem__(slice(None, None, 2)),
        lambda x: x.__iadd__(["end"]),
        lambda x: x.extend(x),
    ):
        change(made)
        change(model)
        assert list(made) == model
    made.clear()
    assert len(made) == 0


def test_list_raises_the_errors_of_pythons_list():
    made = List([1, 2, 3])
    with pytest.raises(IndexError, match="pop from empty list"):
        List().pop()
    for index in (3, -4):
        with pytest.raises(IndexError, match="Index out of range. size: 3"):
            made[index] = 0
        with pytest.raises(IndexError, match="Index out of range"):
            made.pop(index)
    with pytest.raises(ValueError, match="attempt to assign sequence of size 1"):
        made[::2] = [1]
    with pytest.raises(ValueError, match="^$"):
        made.remove(9)
    with pytest.raises(TypeError):
        made["a"] = 1
    assert list(made) == [1, 2, 3]


def test_lists_are_shared(kernels):
    made = List([1])
    again = kernels.echo(made)
    assert again.same_as(made)
    again.append(2)
    assert list(made) == [1, 2]


def test_iteration_while_a_list_changes():
    made = List([1, 2])
    seen = []
    for value in made:
        seen.append(value)
        if len(seen) < 5:
            made.append(value)
    assert seen == [1, 2, 1, 2, 1, 2]
    iterator = iter(made)
    next(iterator)
    made.clear()
    assert list(iterator) == []
    made.append(1)
    assert list(iterator) == []  # an exhausted iterator must stay exhausted


EXTENDED_SLICES = [slice(None, None, 2), slice(None, None, -1), slice(4, 1, -2), slice(1, 5, 3)]


@pytest.mark.parametrize("index", EXTENDED_SLICES, ids=str)
@pytest.mark.parametrize("values", [(), [], (7, 8), [7, 8, 9], range(6)], ids=repr)
def test_extended_slices_are_assigned_as_in_pythons_list(index, values):
    """Regression: an assigned empty tuple was mistaken for a deletion."""
    outcomes = []
    for made in (tvm_ffi.List(range(6)), list(range(6))):
        try:
            made[index] = values
        except ValueError as error:
            outcomes.append((str(error), list(made)))
        else:
            outcomes.append(list(made))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("index", [*EXTENDED_SLICES, slice(2, 4), slice(5, 1)], ids=str)
def test_slices_are_deleted_as_in_pythons_list(index):
    made, expected = tvm_ffi.List(range(6)), list(range(6))
    del made[index], expected[index]
    assert made == expected


def test_slice_is_assigned_from_values_that_shorten_the_list():
    """Regression: the slice end was computed before the values shortened the list."""
    made, expected = tvm_ffi.List(range(6)), list(range(6))

    def values(sequence):
        sequence.clear()
        yield 7

    made[3:5] = values(made)
    expected[3:5] = values(expected)
    assert made == expected
