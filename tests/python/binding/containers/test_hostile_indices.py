# SPDX-License-Identifier: Apache-2.0
"""List compared with Python's list when indices and elements change the sequence in use."""

from __future__ import annotations

import gc

import pytest

from tvm_ffi import Array, List


class Index:
    """An index that changes the sequence when `__index__` is called."""

    def __init__(self, value, change=None):
        self.value = value
        self.change = change or (lambda: None)

    def __index__(self):
        self.change()
        return self.value


CHANGES = {
    "nothing": lambda x: None,
    "append": lambda x: x.append(9),
    "extend": lambda x: x.extend(range(20, 30)),
    "pop": lambda x: x.pop(),
    "shift": lambda x: x.insert(0, 8),
    "clear": lambda x: x.clear(),
    "replace": lambda x: x.__setitem__(slice(None), [6, 5]),
}
OPERATIONS = {
    "get": lambda x, i: x[i],
    "set": lambda x, i: x.__setitem__(i, "x"),
    "delete": lambda x, i: x.__delitem__(i),
    "pop": lambda x, i: x.pop(i),
    "insert": lambda x, i: x.insert(i, "x"),
    "index from": lambda x, i: x.index(3, i),
    "index to": lambda x, i: x.index(3, 0, i),
    "get from": lambda x, i: list(x[i:]),
    "get to": lambda x, i: list(x[:i]),
    "get by two from": lambda x, i: list(x[i::2]),
    "get back from": lambda x, i: list(x[i::-1]),
    "get back to": lambda x, i: list(x[:i:-2]),
    "set from": lambda x, i: x.__setitem__(slice(i, None), ["x", "y"]),
    "set to": lambda x, i: x.__setitem__(slice(i), ("x", "y")),
    "set nothing from": lambda x, i: x.__setitem__(slice(i, i), "xy"),
    "set by two from": lambda x, i: x.__setitem__(slice(i, None, 2), ["x", "y"]),
    "set back from": lambda x, i: x.__setitem__(slice(i, None, -2), ["x", "y"]),
    "delete from": lambda x, i: x.__delitem__(slice(i, None)),
    "delete to": lambda x, i: x.__delitem__(slice(i)),
    "delete by two from": lambda x, i: x.__delitem__(slice(i, None, 2)),
    "delete back from": lambda x, i: x.__delitem__(slice(i, None, -2)),
    "delete back to": lambda x, i: x.__delitem__(slice(None, i, -1)),
}
VALUES = [0, 1, -1, 2, -2, 3, 4, -5, 100, -100, 1 << 80, -1 << 80]


def outcome(make, operation, change, value):
    x = make([1, 2, 3, 4])
    try:
        result = operation(x, Index(value, lambda: change(x)))
    except (IndexError, ValueError, OverflowError) as error:
        # Some methods of Python's list raise OverflowError for an index that is too large.
        kind = IndexError if type(error) is OverflowError else type(error)
        return kind, list(x)
    return result, list(x)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_indices_are_evaluated_before_the_length(name, change):
    """Regression: the length was read before `__index__` changed the list; elements were lost."""
    operation = OPERATIONS[name]
    for value in VALUES:
        if name == "insert" and abs(value) > 1 << 64:
            continue  # list raises where List takes the nearest end of the sequence
        expected = outcome(list, operation, change, value)
        assert outcome(List, operation, change, value) == expected, value


@pytest.mark.parametrize("bound", ["start", "stop", "step"])
@pytest.mark.parametrize(
    "act",
    [
        lambda x, where: x.append(str(list(x[where]))),
        lambda x, where: x.__setitem__(where, [7, 7]),
        lambda x, where: x.__delitem__(where),
    ],
    ids=["get", "set", "delete"],
)
def test_slice_bounds_are_evaluated_once_and_in_the_order_of_list(act, bound):
    def evaluation_order(make):
        order, x = [], make(range(6))

        def part(name, value):
            return Index(value, lambda: (order.append(name), x.append(9 if name == bound else 8)))

        try:
            act(x, slice(part("start", -4), part("stop", -1), part("step", 2)))
        except ValueError as error:
            order.append(str(error))
        return order, list(x)

    assert evaluation_order(List) == evaluation_order(list)


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
@pytest.mark.parametrize("defect", ["raises", "is text", "is no index"])
def test_invalid_indices_leave_the_list_unchanged(operation, defect):
    class Raises:
        def __index__(self):
            raise LookupError("mine")

    class IsText:
        def __index__(self):
            return "1"  # noqa: PLE0305  (a wrong result on purpose)

    index = {"raises": Raises(), "is text": IsText(), "is no index": "1"}[defect]
    x = List([1, 2, 3, 4])
    with pytest.raises(LookupError if defect == "raises" else TypeError):
        operation(x, index)
    assert list(x) == [1, 2, 3, 4]


def test_a_slice_step_of_zero_is_refused():
    for act in (
        lambda x: x[::0],
        lambda x: x.__setitem__(slice(None, None, 0), [1]),
        lambda x: x.__delitem__(slice(None, None, 0)),
    ):
        with pytest.raises(ValueError, match="slice step cannot be zero"):
            act(List([1, 2]))


@pytest.mark.parametrize("start", [None, 0, 1, -1, 2, -3, 7, -9])
@pytest.mark.parametrize("stop", [None, 0, 3, -1, -3, 7, -9])
@pytest.mark.parametrize("step", [None, 1, 2, 3, -1, -2, -7, 1 << 80, -1 << 80])
def test_slices_match_those_of_list(start, stop, step):
    where = slice(start, stop, step)
    model, count = list(range(6)), len(range(6)[where])
    assert List(model)[where] == Array(model)[where] == model[where]
    for change in (
        lambda x: x.__delitem__(where),
        lambda x: x.__setitem__(where, range(10, 10 + count)),
        lambda x: x.__setitem__(where, x),
    ):
        outcomes = []
        for x in (List(model), list(model)):
            try:
                change(x)
            except ValueError as error:
                outcomes.append((str(error), list(x)))
            else:
                outcomes.append(list(x))
        assert outcomes[0] == outcomes[1]


# ---- values that change the list while they are converted ----------------------------------------


class Value:
    """A value whose conversion changes the list."""

    def __init__(self, change):
        self.change = change

    def __tvm_ffi_value__(self):
        self.change()
        return "x"


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("index", [0, 1, 3, -1, -4, 9])
@pytest.mark.parametrize("name", ["set", "insert"])
def test_values_are_converted_before_the_length_is_read(name, index, change):
    """Regression: the position was computed before the conversion, which made it wrong."""
    act = {"set": lambda x, v: x.__setitem__(index, v), "insert": lambda x, v: x.insert(index, v)}
    outcomes = []
    for make in (list, List):
        x = make([1, 2, 3, 4])
        value = Value(lambda x=x: change(x))
        if make is list:
            value = value.__tvm_ffi_value__()
        try:
            act[name](x, value)
        except IndexError:
            outcomes.append(("IndexError", list(x)))
        else:
            outcomes.append(list(x))
    assert outcomes[0] == outcomes[1]


def test_values_whose_conversion_fails_leave_the_list_unchanged():
    def fail():
        raise LookupError("mine")

    for act in (
        lambda x: x.__setitem__(0, Value(fail)),
        lambda x: x.insert(0, Value(fail)),
        lambda x: x.extend([1, Value(fail)]),
        lambda x: x.__setitem__(slice(1), [Value(fail)]),
    ):
        x = List([1, 2])
        with pytest.raises(LookupError, match="mine"):
            act(x)
        assert list(x) == [1, 2]


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_a_list_moved_by_its_index_is_refused(operation, echo):
    x, kept = List([1, 2, 3, 4]), []
    with pytest.raises(ValueError, match="moved"):
        operation(x, Index(1, lambda: kept.append(echo(x._move()))))
    assert list(kept[0]) == [1, 2, 3, 4]


def test_values_may_change_the_list_that_they_extend():
    """Regression: the end was read first: elements appended by the values followed the values."""
    x = List([1, 2, 3])
    x.extend(x.append(5) or 7 for _ in range(1))
    assert list(x) == [1, 2, 3, 5, 7]
    x.extend(x.clear() or 7 for _ in range(1))
    assert list(x) == [7]
    x += x
    assert list(x) == [7, 7]


# ---- comparisons that change the list ------------------------------------------------------------


class Equal:
    """A value that changes the list when compared, and is equal to everything."""

    __hash__ = None

    def __init__(self, change):
        self.change = change

    def __eq__(self, other):
        self.change()
        return True


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize(
    "act",
    [
        lambda x, value: x.remove(value),
        lambda x, value: x.count(value) and None,  # the count itself depends on the changes
        lambda x, value: x.index(value),
        lambda x, value: value in x,
        lambda x, value: x == [value, "b", "c", "d"],
    ],
    ids=["remove", "count", "index", "in", "equal"],
)
def test_comparisons_may_change_the_list(act, change):
    outcomes = []
    for make in (list, List):
        x = make("abcd")
        changes = [change] * 3  # a list that grows at each comparison would never end
        value = Equal(lambda x=x, changes=changes: changes and changes.pop()(x))
        outcomes.append((act(x, value), list(x)))
    assert outcomes[0] == outcomes[1]


def test_a_list_cleared_during_a_comparison_is_not_equal():
    """Regression: the lengths were compared only before the elements, not after."""
    for make in (list, List):
        x = make("abc")
        assert (x == [Equal(x.clear), "b", "c"]) is False


# ---- destructors of elements ---------------------------------------------------------------------


class Dies:
    def __init__(self, act):
        self.act = act

    def __del__(self):
        self.act()


@pytest.mark.parametrize(
    "act",
    [
        lambda x: x.__setitem__(1, 0),
        lambda x: x.__delitem__(1),
        lambda x: x.pop(1),
        lambda x: x.__delitem__(slice(0, 2)),
        lambda x: x.__delitem__(slice(1, None, 2)),
        lambda x: x.__setitem__(slice(1, None, 2), [0]),
        lambda x: x.__setitem__(slice(0, 2), [0]),
        lambda x: x.clear(),
    ],
)
def test_elements_are_released_after_the_list_is_updated(act):
    seen = []
    x = List([1, 0, 3])
    x[1] = Dies(lambda: (seen.append(list(x)), x.append("after"), x.pop(0)))
    act(x)
    gc.collect()
    expected = [1, 0, 3]
    act(expected)
    assert seen == [expected]
    assert list(x) == [*expected, "after"][1:]
