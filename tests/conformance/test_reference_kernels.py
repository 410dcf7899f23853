# SPDX-License-Identifier: Apache-2.0
"""Compiled kernels run on the reference unchanged, and break no rule."""

from __future__ import annotations

import pytest

C = [
    pytest.param(
        """
x, y = reference.tensor("float32", [3], [1, 2, 3]), reference.tensor("float32", [3], [0, 0, 0])
kernels("right").add_one(x, View(y))
value = y.tolist()
""",
        [2.0, 3.0, 4.0],
        id="tensor object and DLTensor view",
    ),
    pytest.param(
        """
x, y = reference.tensor("float32", [3], [1, 2, 3]), reference.tensor("float32", [2], [0, 0])
value = error_of(kernels("right").add_one, x, y)
""",
        "ValueError: `y` must be as long as `x`",
        id="error of the callee",
    ),
    pytest.param(
        """
value = kernels("right").apply(lambda text: text + ", and more", "a string of the heap")
""",
        "a string of the heap, and more",
        id="closure of Python with a string",
    ),
    pytest.param(
        """
def fail():
    raise Raised("KeyError", "no such thing")
value = kernels("right").catch_error(fail)
""",
        "KeyError/no such thing",
        id="error of a closure",
    ),
    pytest.param(
        "value = kernels('right').make_adder(40)(2)", 42, id="closure of C with a deleter"
    ),
    pytest.param(
        """
missing = kernels("right").call_global(20)
reference.set_global("test.global", lambda x: x + 1)
value = [missing, kernels("right").call_global(20)]
""",
        [-1, 21],
        id="global function",
    ),
    pytest.param(
        """
tensor = kernels("right").dlpack_round_trip(reference.tensor("float32", [2, 2], [1, 2, 3, 4]))
value = [tensor.shape, tensor.tolist(), tensor.dtype]
""",
        [[2, 2], [1.0, 2.0, 3.0, 4.0], "float32"],
        id="DLPack round trip",
    ),
    pytest.param("value = kernels('right').errors_of_threads()", 0, id="errors of threads"),
    pytest.param(
        "value = kernels('right').error_of_an_ended_thread()", 0, id="error of an ended thread"
    ),
    pytest.param("value = kernels('right').handle_once()", 0, id="handle that is made once"),
    pytest.param("value = kernels('right').stream()", 0x40, id="stream"),
    pytest.param(
        """
right = kernels("right")
value = [right.big_int(), right.big_int_words(2**64 + 5), right.big_int_words(-1)]
""",
        [2**64 + 5, 2, 1],
        id="big integers",
    ),
    pytest.param(
        """
right = kernels("right")
like = right.tensor_like(reference.tensor("int32", [3], [1, 2, 3]))
value = [like.tolist(), error_of(right.tensor_like, reference.tensor("int32", [1, 1], [1]))]
""",
        [[0, 0, 0], "ValueError: one dimension only"],
        id="allocator of a library",
    ),
    pytest.param(
        """
value = error_of(reference.get_global("ffi.ListPop"), 1, 2)
""",
        "TypeError: Mismatched type on argument #0 when calling: `ffi.ListPop(0: ffi.List, 1: int) "
        "-> Any`. Expected `ffi.List` but got `int`",
        id="wrong argument of a global function",
    ),
]


CPP = [
    pytest.param(
        """
cpp = kernels("right_cpp")
value = [cpp.greet("Ada"), cpp.greet("somebody with a long name"), error_of(cpp.greet, "")]
""",
        ["hello, Ada", "hello, somebody with a long name", "ValueError: `name` is empty"],
        id="strings and errors",
    ),
    pytest.param(
        """
cpp, array = kernels("right_cpp"), [1, 2, 3, 4, 5]
value = [cpp.append(array, 6), cpp.append([], 1)]
""",
        [[1, 2, 3, 4, 5, 6], [1]],
        id="copy-on-write of an Array",
    ),
    pytest.param(
        """
table = {f"key number {i}" if i % 2 else i: i for i in range(200)}
cpp = kernels("right_cpp")
value = [cpp.sum_values(table), cpp.lookup(table, "key number 77"), cpp.lookup(table, 42)]
""",
        [19900, 77, 42],
        id="look-up in a Map of the reference",
    ),
    pytest.param(
        """
made = kernels("right_cpp").new_dict(100)
value = [list(made.items()) == [(7919 * i, i) for i in range(100)], len(made)]
""",
        [True, 100],
        id="Dict of C++ in insertion order",
    ),
    pytest.param(
        """
cpp = kernels("right_cpp")
def fail():
    raise Raised("IndexError", "out of range")
value = [cpp.call(lambda x: x * 2, 21), cpp.multiplier(6)(7), cpp.caught(fail)]
""",
        [42, 42, "IndexError/out of range"],
        id="functions in both directions",
    ),
    pytest.param(
        """
cpp = kernels("right_cpp")
point = cpp.new_point(7)
value = [point.type_key, cpp.point_x(point), reference.get_global("conformance.twice")(21)]
""",
        ["conformance.Point", 7, 42],
        id="object of C++ and a function that a library registers",
    ),
]


@pytest.fixture(scope="module")
def results(run_programs):
    """Return the result of each program."""
    programs = [parameters.values[0] for parameters in [*C, *CPP]]
    return dict(zip(programs, run_programs(programs)))


@pytest.mark.parametrize(("program", "expected"), [*C, *CPP])
def test_a_kernel_runs_and_breaks_no_rule(results, program, expected):
    assert results[program] == {"value": expected, "violations": []}


def dict_after(count: int) -> list[object]:
    """Return the items of {5: "five"} after `fill_dict` and one more assignment."""
    items: list[object] = [[5, "five"]]
    items += [[7919 * i, f"{i} squared"] for i in range(count) if i % 3]
    key = [7919, "1 squared"]
    if key not in items:
        return [*items, [7919, "one"]]
    # Five entries need a dense map, where an assignment moves the entry to the end.
    if count + 1 > 4:
        items.remove(key)
        return [*items, [7919, "one"]]
    return [[7919, "one"] if item == key else item for item in items]


def test_cpp_changes_a_dict_of_the_reference_in_place(run_programs):
    """The layout of maps is shared: C++ grows a Dict, the reference reads and changes it."""
    counts = [1, 3, 4, 5, 9, 40, 300]
    program = """
set_item = reference.get_global("ffi.DictSetItem")
table = reference.get_global("ffi.Dict").call_for_object(5, "five")
kernels("right_cpp").fill_dict(table, {count})
set_item(table, 7919, "one")
value = list(table.to_python().items())
"""
    expected = [{"value": dict_after(count), "violations": []} for count in counts]

    assert run_programs([program.format(count=count) for count in counts]) == expected


def test_cpp_replaces_the_buffer_of_a_list_of_the_reference(run_programs):
    """C++ calls the list's own deleter with the old buffer, then with one of ``operator new``."""
    program = """
items = reference.get_global("ffi.List").call_for_object("a string of the heap")
kernels("right_cpp").extend_list(items, 20)
reference.get_global("ffi.ListAppend")(items, "the end")
value = items.to_python()
"""
    expected = ["a string of the heap", *range(20), "the end"]

    assert run_programs([program]) == [{"value": expected, "violations": []}]
