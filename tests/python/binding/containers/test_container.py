# SPDX-License-Identifier: Apache-2.0
"""All containers: Python lists, tuples and dicts as arguments, copies, pickles and threads."""

from __future__ import annotations

import collections
import collections.abc
import copy
import gc
import pickle
import re
import sys
import threading

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

import tvm_ffi
import tvm_ffi.dataclasses
from tvm_ffi import Array, Dict, List, Map, container, core

# ---- Arguments -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "cls"),
    [
        ([1, 2], Array),
        ((1, "a"), Array),
        ([], Array),
        (collections.namedtuple("P", "x y")(1, 2), Array),
        ({"a": 1}, Map),
        (collections.defaultdict(int, a=1), Map),
        ([[1], {"k": (2, [3])}], Array),
    ],
    ids=lambda value: type(value).__name__,
)
def test_python_containers_become_native_ones(echo, value, cls):
    returned = echo(value)
    assert type(returned) is cls
    plain = Array(value) if cls is Array else Map(value)
    assert returned == plain
    assert type(tvm_ffi.convert(value)) is cls


def test_a_list_is_copied(echo):
    value = [1]
    returned = echo(value)
    value.append(2)
    assert list(returned) == [1]


@pytest.mark.parametrize("make", [list, dict])
def test_containers_that_contain_themselves_are_refused(echo, make):
    value = make()
    if make is list:
        value.append(value)
    else:
        value["self"] = value
    with pytest.raises(RecursionError):
        echo(value)
    assert echo([1]) == [1]


@pytest.mark.parametrize("make", [lambda x: [x], lambda x: {"a": x}], ids=["list", "dict"])
def test_very_deep_nesting_is_refused(echo, make):
    value = make(1)
    for _ in range(100_000):
        value = make(value)
    with pytest.raises(RecursionError, match="while converting a container"):
        echo(value)
    assert echo([1]) == [1]


@pytest.mark.parametrize(
    ("depth", "message"),
    [(1000, "converted"), (1001, "nesting deeper than 1000 while converting a container")],
)
def test_the_nesting_limit_is_independent_of_pythons(run_python, depth, message):
    """Programs may raise Python's recursion limit; 3.12 and 3.13 do not check the C stack."""
    done = run_python(f"""
import sys
import tvm_ffi
echo = tvm_ffi.convert(lambda value: value)
value = [1.5]
for _ in range({depth} - 1):
    value = [value]
sys.setrecursionlimit(100_000)
for _ in range(2):
    try:
        echo(value)
    except RecursionError as error:
        print(error)
    else:
        print("converted")
""")
    assert done.stdout == f"{message}\n" * 2, done.stderr


@pytest.mark.parametrize("make", ["[value]", "{'a': value}", "(1, value)"])
def test_the_nesting_limit_depends_on_the_stack_of_the_thread(run_python, make):
    """The limit was the same for all threads and overflowed a small stack."""
    done = run_python(f"""
import threading
import tvm_ffi

echo = tvm_ffi.convert(lambda value: value)


def nested(depth):
    value = 1.5
    for _ in range(depth):
        value = {make}
    return value


def convert(depth):
    try:
        echo(nested(depth))
    except RecursionError as error:
        print(error)
    else:
        print("converted")


def run():
    for depth in (40, 900, 40):
        convert(depth)


threading.stack_size(256 * 1024)
thread = threading.Thread(target=run)
thread.start()
thread.join()
""")
    messages = done.stdout.splitlines()
    assert (done.returncode, len(messages)) == (0, 3), done.stderr
    assert (messages[0], messages[2]) == ("converted", "converted")
    assert re.fullmatch(
        r"nesting deeper than \d+ while converting a container, on the small stack of this thread",
        messages[1],
    )


def nest_and_release():
    for make in (lambda x: Array([x]), lambda x: List([x]), lambda x: Map({1: x})):
        value = 1
        for _ in range(300_000):
            value = make(value)
    del value


def test_deeply_nested_containers_are_released():
    """The release is a loop from the outside in; recursion would overflow the stack."""
    earlier = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=nest_and_release)
        thread.start()
    finally:
        threading.stack_size(earlier)
    thread.join()
    assert not thread.is_alive()


def test_an_element_that_cannot_be_passed_is_refused(echo):
    with pytest.raises(OverflowError):
        echo([1, [tvm_ffi.core.Device, 1 << 70, _BadPointer()]])
    assert echo([1]) == [1]


class _BadPointer:
    def __tvm_ffi_opaque_ptr__(self):
        return 1 << 70


def test_an_item_may_clear_its_list_during_conversion(echo):
    value = []

    class Shrinks:
        def __tvm_ffi_value__(self):
            value.clear()
            gc.collect()
            return "shrunk"

    value.extend([Shrinks(), "a long text that lives on the heap", 3])
    assert echo(value) == ["shrunk", "a long text that lives on the heap", 3]


def test_tensors_in_containers(echo):
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    returned = echo({"x": [array, array[:, 1]]})
    tensors = returned["x"]
    np.testing.assert_array_equal(np.from_dlpack(tensors[0]), array)
    np.testing.assert_array_equal(np.from_dlpack(tensors[1]), array[:, 1])
    del array
    assert np.from_dlpack(tensors[1]).tolist() == [1.0, 4.0]


def test_torch_tensors_are_returned_as_torch_tensors(echo):
    torch = pytest.importorskip("torch")
    value = torch.arange(3)
    returned = echo([value, [value]])
    assert type(returned[0]) is torch.Tensor
    assert type(returned[1][0]) is torch.Tensor
    assert {type(x) for x in echo([value, value])} == {torch.Tensor}
    assert type(echo({"k": value})["k"]) is torch.Tensor
    assert [type(x) for x in echo({"k": value}).values()] == [torch.Tensor]


def test_functions_in_containers(echo):
    assert echo([lambda x: x + 1])[0](2) == 3


def test_callbacks_get_containers():
    seen = []
    tvm_ffi.convert_func(lambda x, y: seen.append((list(x), dict(y))))([1, 2], {"a": 3})
    assert seen == [([1, 2], {"a": 3})]


# ---- Copies and threads --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [Array([1, "a", [2]]), List([1, [2]]), Map({"a": 1, 2: [3]}), Dict({"a": {"b": 1}})],
    ids=lambda value: type(value).__name__,
)
def test_copies(value):
    for made in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
        assert type(made) is type(value)
        assert made == value


def test_deep_copies_are_independent():
    inner = List([1])
    value = List([inner, inner, {"a": inner}])
    made = copy.deepcopy(value)
    inner.append(2)
    assert [list(made[0]), list(made[1]), list(made[2]["a"])] == [[1], [1], [1]]
    assert made[0].same_as(made[1])  # shared children stay shared in the copy
    assert not made[0].same_as(inner)
    assert value.__deepcopy__()[0] == [1, 2]


def test_deep_copy_of_a_list_in_itself():
    value = List([1])
    value.append(value)
    made = copy.deepcopy(value)
    assert made[1].same_as(made)
    made.clear()
    value.clear()


def test_deep_copy_keeps_the_class():
    class Row(Array):
        pass

    assert type(copy.deepcopy(Row([1, [2]]))) is Row


def test_deep_copy_of_python_objects_in_containers():
    thing = [object()]
    made = copy.deepcopy(Array([{"a": thing}, "text"]))
    assert made[1] == "text"
    assert made[0]["a"][0] is not thing[0]
    assert type(made[0]["a"][0]) is object


def test_empty_containers_are_false():
    for empty, filled in ((List(), List([0])), (Dict(), Dict({1: 0})), (Map({}), Map({1: 0}))):
        assert (bool(empty), empty.__bool__()) == (False, False)
        assert (bool(filled), filled.__bool__()) == (True, True)
    with pytest.raises(ValueError, match="List is empty"):
        bool(List.__new__(List))


@pytest.mark.parametrize(
    ("index", "position"), [(0, 0), (4, 4), (-1, 4), (-5, 0), (np.int64(2), 2), (True, 1)], ids=str
)
def test_normalize_index(index, position):
    assert container.normalize_index(5, index) == position


@pytest.mark.parametrize(
    ("length", "index", "error", "message"),
    [
        (5, 7, IndexError, "Index out of range. size: 5, got index 7"),
        (5, -6, IndexError, "Index out of range. size: 5, got index -6"),
        (0, 0, IndexError, "Index out of range. size: 0, got index 0"),
        (5, "a", TypeError, "indices must be integers or slices, not str"),
        (5, 1.0, TypeError, "indices must be integers or slices, not float"),
    ],
)
def test_wrong_index(length, index, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        container.normalize_index(length, index)


def test_getitem_helper():
    def get(index):
        return container.getitem_helper("abc", lambda text, i: text[i].upper(), 3, index)

    assert (get(0), get(-1), get(np.int8(1))) == ("A", "C", "B")
    assert get(slice(None, None, -1)) == ["C", "B", "A"]
    with pytest.raises(IndexError, match="size: 3, got index 3"):
        get(3)


def test_missing_is_the_sentinel_of_the_binding():
    assert container.MISSING is core.MISSING
    with pytest.raises(AttributeError, match="no attribute 'NO_SUCH_NAME'"):
        _ = container.NO_SUCH_NAME


def test_a_list_in_itself_cannot_be_pickled():
    """Each read of an element makes a new wrapper: pickle does not notice the reference cycle."""
    value = List([1])
    value.append(value)
    with pytest.raises(RecursionError):
        pickle.dumps(value)
    value.clear()


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
NESTED = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=20,
)


def plain(value):
    """Return a native container as Python lists and dicts."""
    if isinstance(value, Array):
        return [plain(item) for item in value]
    if isinstance(value, Map):
        return {key: plain(item) for key, item in value.items()}
    return value


@hypothesis.given(NESTED)
def test_nested_values_survive_a_round_trip(echo, value):
    assert repr(plain(echo(value))) == repr(value)


def test_reading_from_many_threads():
    array, mapping = Array(range(100)), Map({i: i for i in range(100)})
    failures = []

    def read():
        for _ in range(50):
            if sum(array) != 4950 or sum(mapping.values()) != 4950 or mapping[7] != 7:
                failures.append("wrong")

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.parametrize("make", [lambda: tvm_ffi.List([1, 2]), lambda: tvm_ffi.Map({1: 2})])
def test_iterators_cannot_be_pickled(make):
    """Regression: pickles that Cython generates set any field, even an invalid negative index."""
    iterator = iter(make())
    assert not hasattr(iterator, "__setstate_cython__")
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="cannot pickle"):
            pickle.dumps(iterator, protocol)


def test_binding_classes_have_no_pickle_support_generated_by_cython():
    """Regression: the generated state had offsets and addresses, which a forged pickle chose."""
    modules = [m for name, m in sys.modules.items() if name.startswith("tvm_ffi._binding.")]
    classes = {c for m in modules for c in vars(m).values() if isinstance(c, type)}
    assert len(classes) > 40
    assert [c for c in classes if hasattr(c, "__setstate_cython__")] == []
