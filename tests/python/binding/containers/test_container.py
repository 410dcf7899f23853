# SPDX-License-Identifier: Apache-2.0
"""Array, List, Map, Dict, and the lists, tuples and dicts that become them."""

from __future__ import annotations

import collections
import collections.abc
import copy
import gc
import pickle
import re
import sys
import threading
import typing

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

import tvm_ffi
import tvm_ffi.dataclasses
from tvm_ffi import Array, Dict, List, Map, container, core

# ---- Sequences -----------------------------------------------------------------------------------


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
def test_bases_with_arguments_hold_types(cls):
    """Checkers of types at run time follow them, and cannot look up what stands there as text."""
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


def test_list_refuses_as_a_list_does():
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
    assert list(iterator) == []  # an iterator that came to its end stays there


# ---- Mappings ------------------------------------------------------------------------------------


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
def test_a_dict_that_changes_during_iteration(count):
    made = Dict({i: i for i in range(count)})
    iterator = iter(made)
    next(iterator)
    made["new"] = 1
    with pytest.raises(RuntimeError, match="Dict changed during iteration"):
        next(iterator)


class _Hooks:
    """What the hooks of the keys below do; not in the calls that they make themselves."""

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


@pytest.mark.parametrize("size", [3, 4, 7, 15, 40])
@pytest.mark.parametrize("change", ["clear", "grow"])
def test_key_hooks_that_change_their_dict(size, change):
    """Searches kept slots across the calls of hooks, and growing tables copied what was gone."""
    table = Dict({_ChangingKey(i): i for i in range(size)})

    def grow():
        for _ in range(3):
            table[_ChangingKey(1000 + len(table))] = 1

    _Hooks.change = table.clear if change == "clear" else grow
    said = r"the table changed while `__any_(hash|equal)__` of a key was running"
    try:
        for call in (
            lambda: table[_ChangingKey(1)],
            lambda: _ChangingKey(1) in table,
            lambda: table.__setitem__(_ChangingKey(1), 2),
            lambda: table.pop(_ChangingKey(1)),
        ):
            if len(table) > 0:
                with pytest.raises(RuntimeError, match=said):
                    call()
        for i in range(70):  # grows on the way
            if len(table) > 4:
                with pytest.raises(RuntimeError, match=said):
                    table[_ChangingKey(500 + i)] = 1
    finally:
        _Hooks.change = None
    assert len(list(table.items())) == len(table)
    assert [table[key] for key in table] == list(table.values())


def test_a_dict_whose_slots_are_emptied_during_iteration():
    """As many removed as added: the size says nothing, the slots do."""
    made = Dict({i: i for i in range(40)})
    iterator = iter(made.items())
    next(iterator)
    for i in range(1, 40):
        del made[i]
        made[100 + i] = i
    with pytest.raises(RuntimeError, match="Dict changed during iteration"):
        list(iterator)


def test_assigning_while_iterating_ends():
    made = Dict({i: i for i in range(40)})
    for key in made:
        made[key] = 0
    assert len(made) == 40


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
    ("depth", "said"),
    [(1000, "converted"), (1001, "nesting deeper than 1000 while converting a container")],
)
def test_the_limit_of_nesting_is_our_own(run_python, depth, said):
    """Programs may raise Python's; Python 3.12 and 3.13 let C code overflow the stack."""
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
    assert done.stdout == f"{said}\n" * 2, done.stderr


@pytest.mark.parametrize("make", ["[value]", "{'a': value}", "(1, value)"])
def test_nesting_ends_where_the_stack_of_a_thread_does(run_python, make):
    """The limit was the same for all threads, and more than a small stack has room for."""
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
    said = done.stdout.splitlines()
    assert (done.returncode, len(said)) == (0, 3), done.stderr
    assert (said[0], said[2]) == ("converted", "converted")
    assert re.fullmatch(
        r"nesting deeper than \d+ while converting a container, on the small stack of this thread",
        said[1],
    )


def nest_and_release():
    for make in (lambda x: Array([x]), lambda x: List([x]), lambda x: Map({1: x})):
        value = 1
        for _ in range(300_000):
            value = make(value)
    del value


def test_deeply_nested_containers_are_released():
    """Released from the outside in, not by recursion, which would overflow the stack."""
    earlier = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=nest_and_release)
        thread.start()
    finally:
        threading.stack_size(earlier)
    thread.join()
    assert not thread.is_alive()


def test_an_element_that_cannot_be_passed(echo):
    with pytest.raises(OverflowError):
        echo([1, [tvm_ffi.core.Device, 1 << 70, _BadPointer()]])
    assert echo([1]) == [1]


class _BadPointer:
    def __tvm_ffi_opaque_ptr__(self):
        return 1 << 70


def test_an_item_that_changes_its_list(echo):
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


def test_torch_tensors_come_back_as_torch_tensors(echo):
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
    assert made[0].same_as(made[1])  # what is shared stays shared
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


def test_deep_copy_of_what_native_code_cannot_copy():
    thing = [object()]
    made = copy.deepcopy(Array([{"a": thing}, "text"]))
    assert made[1] == "text"
    assert made[0]["a"][0] is not thing[0]
    assert type(made[0]["a"][0]) is object


def test_truth_is_that_of_the_length():
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


def test_missing_is_that_of_the_binding():
    assert container.MISSING is core.MISSING
    with pytest.raises(AttributeError, match="no attribute 'NO_SUCH_NAME'"):
        _ = container.NO_SUCH_NAME


def test_a_list_in_itself_cannot_be_pickled():
    """Each element that is read is a new wrapper, so pickle does not see that it has come back."""
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
    """Return the Python form of a returned value."""
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
def test_iterators_cannot_be_made_from_a_state(make):
    """Pickles of Cython's making set any field: a negative position read in front of the memory."""
    iterator = iter(make())
    assert not hasattr(iterator, "__setstate_cython__")
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="cannot pickle"):
            pickle.dumps(iterator, protocol)


def test_no_class_of_the_binding_takes_a_state_of_cythons_making():
    """States hold offsets and addresses as numbers, which a pickle could choose."""
    modules = [m for name, m in sys.modules.items() if name.startswith("tvm_ffi._binding.")]
    classes = {c for m in modules for c in vars(m).values() if isinstance(c, type)}
    assert len(classes) > 40
    assert [c for c in classes if hasattr(c, "__setstate_cython__")] == []


def test_pairs_of_a_dict_subclass_are_pairs():
    """Key and value were taken by turns from what the items were made of."""

    class Triples(dict):
        def items(self):
            return [(1, 2, 3), (4, 5, 6)]

    with pytest.raises(ValueError, match="too many values to unpack"):
        tvm_ffi.Map(Triples({1: 2}))


EXTENDED_SLICES = [slice(None, None, 2), slice(None, None, -1), slice(4, 1, -2), slice(1, 5, 3)]


@pytest.mark.parametrize("index", EXTENDED_SLICES, ids=str)
@pytest.mark.parametrize("values", [(), [], (7, 8), [7, 8, 9], range(6)], ids=repr)
def test_extended_slices_are_assigned_as_pythons_lists_do(index, values):
    """An empty tuple stood for deletion."""
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
def test_slices_are_deleted_as_pythons_lists_do(index):
    made, expected = tvm_ffi.List(range(6)), list(range(6))
    del made[index], expected[index]
    assert made == expected


def test_slice_is_assigned_from_values_that_shorten_the_list():
    """The end was read before the values, and lay outside the list afterwards."""
    made, expected = tvm_ffi.List(range(6)), list(range(6))

    def values(sequence):
        sequence.clear()
        yield 7

    made[3:5] = values(made)
    expected[3:5] = values(expected)
    assert made == expected


class Key:
    """A key that is converted by code of its own, which changes the dict."""

    def __init__(self, *changes):
        self.changes = list(changes)

    def __tvm_ffi_value__(self):
        if self.changes:
            self.changes.pop(0)()
        return "a"


@pytest.mark.parametrize("num_kept", [0, 1, 2])
def test_dict_that_a_key_clears(num_kept):
    """`pop` with a default raised KeyError for a key that went between two of its look-ups."""

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


def test_dicts_that_a_comparison_clears_are_not_equal():
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
