# SPDX-License-Identifier: Apache-2.0
"""`structural_walk` and `structural_visit`."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import pytest

import tvm_ffi
from tvm_ffi import (
    DefRegionKind,
    StructuralVisitor,
    VisitInterrupt,
    WalkOrder,
    WalkResult,
    structural_visit,
    structural_walk,
)

from .conftest import nested, shared


def walked(root, *types, order="post"):
    """Return the values of these types that a structural walk visits."""
    seen: list[Any] = []
    structural_walk(root, (types or (Any,), seen.append), order=order)
    return seen


def test_numbers_of_the_enums():
    assert [*WalkOrder] == [WalkOrder.PREORDER, WalkOrder.POSTORDER] == [0, 1]
    assert [*WalkResult] == [WalkResult.ADVANCE, WalkResult.SKIP] == [0, 1]
    assert [*tvm_ffi.InplaceMode] == [0, 1]
    assert [*DefRegionKind] == [0, 1, 2]
    assert (DefRegionKind.DEF_PATTERN, DefRegionKind.DEF_SIMPLE) == (1, 2)
    assert tvm_ffi.InplaceMode.ALLOW == 1


# ---- Walks --------------------------------------------------------------------------------------


def test_orders():
    root = tvm_ffi.Array([1, [2]])
    inner = root[1]
    assert walked(root, order="post") == [1, 2, inner, root]
    assert walked(root, order=WalkOrder.POSTORDER) == [1, 2, inner, root]
    assert walked(root, order="pre") == [root, 1, inner, 2]
    assert walked(root, order=WalkOrder.PREORDER) == [root, 1, inner, 2]


@pytest.mark.parametrize("order", [0, 1, True, "PRE", "x", None, [1]])
def test_other_orders_are_refused(order):
    with pytest.raises(ValueError, match='structural_walk: order must be "pre", "post" or a WalkO'):
        structural_walk([1], print, order=order)


def test_ignored_fields_and_mapping_keys_are_not_walked(language):
    pair = language.Pair([None, 1], {"key": "value"}, 7)  # the last element is in an ignored field
    assert walked(pair, int, str, type(None)) == [1, "value"]


def test_shared_values_are_visited_each_time():
    part = tvm_ffi.List([5])
    assert walked([part, part], int) == [5, 5]


@pytest.mark.parametrize("traverse", [structural_walk, structural_visit])
def test_shared_values_without_a_callback_are_visited_once(traverse, language):
    """Regression: 2^60 visits, although no callback was called."""
    seen = []
    root = tvm_ffi.Array([shared(language, 60), "end"])
    traverse(root, (str, lambda value, *_: seen.append(value)))
    assert seen == ["end"]


def test_shared_values_with_a_callback_inside_are_visited_each_time(language):
    seen = []
    part = language.Pair("a", 1)
    structural_walk([shared(language, 5), part, part, shared(language, 5)], (str, seen.append))
    assert seen == ["a", "a"]


def test_a_value_that_a_callback_changes_is_visited_again():
    """A visit that called no callback is not remembered across a call of a callback."""
    shared_list = tvm_ffi.List([1])
    seen = []

    def change(value):
        seen.append(value)
        if value == "first":
            shared_list.append("added")

    structural_walk([shared_list, "first", shared_list], (str, change))
    assert seen == ["first", "added"]


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ((int,), [1, 3]),
        ((bool,), [True]),
        ((float,), [1.5]),
        ((str,), ["two", "t" * 20]),
        ((bytes,), [b"b"]),
        ((str, bytes), ["two", "t" * 20, b"b"]),
        ((list,), [tvm_ffi.List([3])]),
        ((tvm_ffi.List,), [tvm_ffi.List([3])]),
        ((dict,), []),
        ((tvm_ffi.Map,), [tvm_ffi.Map({})]),
        ((tvm_ffi.Device,), [tvm_ffi.device("cpu", 0)]),
        ((tvm_ffi.dtype,), [tvm_ffi.dtype("int8")]),
        ((tvm_ffi.Shape,), [tvm_ffi.Shape((1, 2))]),
        ((tvm_ffi.Function,), []),
        ((type(None),), []),
    ],
)
def test_types_of_values(types, expected):
    root = (
        *(1, True, 1.5, "two", "t" * 20, None, b"b", tvm_ffi.List([3]), {}, 2**70),
        *(tvm_ffi.device("cpu", 0), tvm_ffi.dtype("int8"), tvm_ffi.Shape((1, 2))),
    )
    assert walked(root, *types) == expected


def test_all_values_and_all_objects():
    root = tvm_ffi.Array([1, [2]])
    assert walked(root, object) == walked(root, Any) == walked(root) == [1, 2, root[1], root]
    assert walked(root, tvm_ffi.Object) == [root[1], root]


def test_a_class_matches_derived_classes(language):
    pair, triple = language.Pair(1, 2), language.Triple(3, 4, 5)
    assert walked([pair, triple], language.Pair) == [pair, triple]
    assert walked([pair, triple], language.Triple) == [triple]


def test_the_first_matching_callback_is_called(language):
    calls = []
    structural_walk(
        [1, "a", 2.5],
        [
            (int, lambda x: calls.append(("int", x))),
            ((str, int), lambda x: calls.append(("text", x))),
        ],
        lambda x, kind: calls.append(("rest", x, kind)) if x == 2.5 else None,
    )
    assert calls == [("int", 1), ("text", "a"), ("rest", 2.5, DefRegionKind.NONE)]


def test_regions_that_define_variables(language):
    a, b, c = (language.Var(name) for name in "abc")
    calls = []
    root = [language.Fn([a], a), language.Loop(b, b), c]
    structural_walk(root, (), (language.Var, lambda var, kind: calls.append((var.name, kind))))
    assert calls == [("a", 1), ("a", 0), ("b", 2), ("b", 0), ("c", 0)]
    assert all(type(kind) is DefRegionKind for _, kind in calls)


def test_skip_does_not_visit_children():
    root, seen = tvm_ffi.Array([1, [2, 3], 4]), []

    def skip_inner(value):
        seen.append(value)
        return WalkResult.SKIP if value == root[1] else WalkResult.ADVANCE

    assert structural_walk(root, skip_inner, order="pre") is None
    assert seen == [root, 1, root[1], 4]


def test_an_interrupt_ends_the_walk():
    seen = []

    def find(value):
        seen.append(value)
        return VisitInterrupt(f"found {value}") if value == 2 else None

    interrupt = structural_walk([1, 2, 3], find)
    assert (type(interrupt), interrupt.value, seen) == (VisitInterrupt, "found 2", [1, 2])


@pytest.mark.parametrize("result", [0, 1, True, False, WalkResult.SKIP, WalkResult.ADVANCE, None])
def test_valid_results_of_walk_callbacks(result):
    assert structural_walk([1, [2]], lambda _: result) is None


@pytest.mark.parametrize("result", ["x", 1.5, [1], object()])
def test_other_results_are_refused(result):
    with pytest.raises(TypeError, match="WalkResult"):
        structural_walk([1, [2]], lambda _: result)
    with pytest.raises(TypeError, match=r"ffi\.VisitInterrupt"):
        structural_visit([1, [2]], lambda *_: result)
    assert walked([1], int) == [1]


def test_interrupts_are_values():
    interrupt = VisitInterrupt(5)
    assert (interrupt.value, VisitInterrupt().value, VisitInterrupt(value=6).value) == (5, None, 6)
    assert interrupt != VisitInterrupt(5)
    assert repr(interrupt) == "ffi.VisitInterrupt(value=5)"
    assert pickle.loads(pickle.dumps(interrupt)).value == 5


@pytest.mark.parametrize("traverse", [structural_walk, structural_visit])
@pytest.mark.parametrize(
    ("callbacks", "message"),
    [
        (3, "expected a callable, a pair .* got int"),
        (None, "expected a callable"),
        ("text", "expected a callable, .* got str"),
        ({int: len}, "expected a callable, .* got dict"),
        (iter([(int, len)]), "expected a callable"),
        ([3], "callback 0 must be a pair"),
        ([len], "callback 0 must be a pair"),
        ([(int, len), ()], "callback 1 must be a pair"),
        ((int,), "callback 0 must be a pair"),
        ((int, len, len), "callback 0 must be a pair"),
        ([[int, len]], "callback 0 must be a pair"),
        ((3, len), "callback 0: expected a type of FFI values, got 3"),
        (("int", len), "callback 0: expected a type of FFI values, got "),
        ((complex, len), "callback 0: expected a type of FFI values, got "),
        (([int, str], len), "callback 0: expected a type of FFI values, got "),
        (
            [(int, len), ((str, complex), len)],
            "callback 1: expected a type of FFI values, got <class 'complex'>",
        ),
        ((tvm_ffi.core.CObject, len), "callback 0: expected a type of FFI values, got "),
    ],
)
def test_invalid_callbacks_are_refused(traverse, callbacks, message):
    with pytest.raises(TypeError, match=f"{traverse.__name__}: {message}"):
        traverse([1], callbacks)


def test_lists_of_callbacks_may_be_empty():
    assert structural_walk([1]) is None
    assert structural_walk([1], [], []) is None
    assert structural_visit([1]) is None


# ---- Visits -------------------------------------------------------------------------------------


def test_visits_descend_only_where_callbacks_do():
    seen = []

    def enter(value, visitor):
        assert type(visitor) is StructuralVisitor
        seen.append(value)
        return visitor.default_visit(value) if len(value) > 1 else None

    assert (
        structural_visit(
            [[1, 2], [3]], [(tvm_ffi.Array, enter), (int, lambda x, _: seen.append(x))]
        )
        is None
    )
    assert [x if isinstance(x, int) else list(x) for x in seen] == [
        [tvm_ffi.Array([1, 2]), tvm_ffi.Array([3])],
        [1, 2],
        1,
        2,
        [3],
    ]


def test_values_without_a_callback_are_descended_into():
    seen = []
    structural_visit([[1], {"a": 2}], (int, lambda x, _: seen.append(x)))
    assert seen == [1, 2]


def test_visitors_visit_any_value():
    seen = []

    def visit_other(value, visitor):
        seen.append(value)
        return visitor.visit([10, 20]) if value == 1 else None

    structural_visit([1, 2], (int, visit_other))
    assert seen == [1, 10, 20, 2]


def test_an_interrupt_is_returned_by_default_visit():
    def enter(value, visitor):
        interrupt = visitor.default_visit(value)
        assert type(interrupt) is VisitInterrupt
        return interrupt

    pairs = [(tvm_ffi.Array, enter), (int, lambda x, _: VisitInterrupt(x) if x == 2 else None)]
    assert structural_visit([[1, 2], 3], pairs).value == 2


def test_visitors_open_regions(language):
    var, kinds = language.Var("x"), []

    def enter(value, visitor):
        kinds.append(visitor.def_region_kind())
        result = visitor.with_def_region_kind(DefRegionKind.DEF_SIMPLE, lambda: visitor.visit(var))
        kinds.append(visitor.def_region_kind())
        return result

    pairs = [(language.Pair, enter), (language.Var, lambda _, v: kinds.append(v.def_region_kind()))]
    structural_visit(language.Pair(1, 2), pairs)
    assert kinds == [DefRegionKind.NONE, DefRegionKind.DEF_SIMPLE, DefRegionKind.NONE]
    assert all(type(kind) is DefRegionKind for kind in kinds)


def test_invalid_region_kinds_are_refused():
    def enter(value, visitor):
        visitor.with_def_region_kind(7, lambda: None)

    with pytest.raises(ValueError, match="0, 1 or 2, got 7"):
        structural_visit([1], (int, enter))


def test_an_exception_in_a_region_leaves_it():
    kinds = []

    def enter(value, visitor):
        with pytest.raises(KeyError):
            visitor.with_def_region_kind(1, lambda: {}["missing"])
        kinds.append(visitor.def_region_kind())

    structural_visit([1], (int, enter))
    assert kinds == [DefRegionKind.NONE]


def test_visitors_cannot_be_constructed_directly():
    with pytest.raises(TypeError, match="`StructuralVisitor` cannot be constructed directly"):
        StructuralVisitor()


def test_a_visitor_can_be_used_after_the_visit():
    kept, seen = [], []
    structural_visit([1], (int, lambda x, visitor: kept.append(visitor) or seen.append(x)))
    assert kept[0].visit([2]) is None
    assert len(seen) == 2
    kept.clear()


# ---- Errors and changes in callbacks ------------------------------------------------------------


@pytest.mark.parametrize("traverse", [structural_walk, structural_visit])
def test_the_path_to_an_error_is_attached(traverse, language):
    class OddError(Exception):
        pass

    def fail(value, *_):
        if value == 3:
            raise OddError("no 3")

    pair = language.Pair(1, [2, 3])
    with pytest.raises(OddError, match="no 3") as caught:
        traverse([pair], (int, fail))
    context = caught.value.__tvm_ffi_error__.extra_context
    assert type(context).__name__ == "VisitErrorContext"
    way = list(context.reverse_visit_pattern)
    assert [type(value).__name__ for value in way] == ["Array", "Pair", "Array"]
    assert way[1].same_as(pair)
    assert context.prev_error_context is None
    find = tvm_ffi.get_global_func("ffi.VisitErrorContext.FindAccessPaths")
    assert [repr(path) for path in find(way[-1], context, False)] == ["<root>[0].rhs"]


def test_an_error_caught_in_a_callback_does_not_end_the_visit():
    def enter(value, visitor):
        with pytest.raises(ZeroDivisionError):
            visitor.visit(0)

    pairs = [(tvm_ffi.Array, enter), (int, lambda x, _: 1 / x)]
    assert structural_visit([0], pairs) is None


def test_ctrl_c_reaches_the_caller():
    def interrupt(value):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        structural_walk([1], interrupt)


def test_callbacks_may_change_the_walked_container():
    values, seen = tvm_ffi.List([1, 2, 3]), []

    def shrink(x):
        seen.append(x)
        if len(values) > 1:
            values.pop()

    structural_walk(values, (int, shrink))
    assert seen[0] == 1
    assert len(seen) <= 3
    table = tvm_ffi.Dict({"a": 1, "b": 2})
    structural_walk(table, (int, lambda _: table.clear()))
    assert len(table) == 0


def test_cyclic_values_are_refused(cyclic):
    for order in ("pre", "post"):
        with pytest.raises(ValueError, match="contains itself"):
            structural_walk(cyclic, order=order)
    with pytest.raises((ValueError, RecursionError)):
        structural_walk(cyclic, lambda _: None, order="pre")
    with pytest.raises((ValueError, RecursionError)):
        structural_visit(cyclic, lambda value, visitor: visitor.default_visit(value))
    assert walked([1], int) == [1]


def test_deeply_nested_values_are_walked_or_refused():
    assert structural_walk(nested(2000), lambda _: None) is None
    with pytest.raises(ValueError, match="nested too deep"):
        structural_walk(nested(1_000_000))


def test_deeply_nested_values_on_a_small_stack():
    """Each level of the visit is a call from native code into Python and back."""
    outcomes = []

    def work():
        try:
            structural_visit(nested(100_000), lambda value, visitor: visitor.default_visit(value))
        except (ValueError, RecursionError) as error:
            outcomes.append(type(error))

    previous = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(previous)
    assert len(outcomes) == 1
