# SPDX-License-Identifier: Apache-2.0
"""`structural_map` and `structural_mutate`."""

from __future__ import annotations

import functools

import pytest

import tvm_ffi
from tvm_ffi import (
    DefRegionKind,
    InplaceMode,
    StructuralMutator,
    WalkOrder,
    structural_map,
    structural_mutate,
)

from .conftest import nested, shared


def plus_ten(number):
    return number + 10


# ---- Maps ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [tvm_ffi.Array, tvm_ffi.List])
def test_sequences(make):
    root = make([1, "a", make([2])])
    result = structural_map(root, (int, plus_ten))
    assert (type(result), result) == (make, make([11, "a", make([12])]))
    assert root == make([1, "a", make([2])])


@pytest.mark.parametrize("make", [tvm_ffi.Map, tvm_ffi.Dict])
def test_mappings_keep_their_keys(make):
    root = make({1: 2, "a": make({"b": 3})})
    result = structural_map(root, (int, plus_ten))
    assert (type(result), result) == (make, make({1: 12, "a": make({"b": 13})}))
    assert root[1] == 2


def test_plain_values():
    assert structural_map([1, [2]], (int, plus_ten)) == tvm_ffi.Array([11, [12]])
    assert structural_map(1, (int, plus_ten)) == 11
    assert structural_map([1, 2], (int, lambda _: None)) == tvm_ffi.Array([None, None])
    assert structural_map([1, 2], (int, str)) == tvm_ffi.Array(["1", "2"])


def test_fields(language):
    pair = language.Pair(1, language.Pair(2, "b"), 7)
    result = structural_map(pair, (int, plus_ten))
    assert (result.lhs, result.rhs.lhs, result.rhs.rhs, result.span) == (11, 12, "b", 7)
    assert (pair.lhs, type(result)) == (1, language.Pair)


def test_unchanged_values_are_shared(language):
    pair = language.Pair(language.Pair("a", "b"), [1])
    assert structural_map(pair, (int, lambda x: x)).same_as(pair)
    assert structural_map(pair).same_as(pair)
    result = structural_map(pair, (int, plus_ten))
    assert result.lhs.same_as(pair.lhs)
    assert not result.rhs.same_as(pair.rhs)


@pytest.mark.parametrize("traverse", [structural_map, structural_mutate])
def test_shared_values_without_a_callback_are_mutated_once(traverse, language):
    """Regression: 2^60 mutations, although no callback was called."""
    graph = shared(language, 60)
    result = traverse([graph, "end"], (str, lambda value, *_: value + "!"))
    assert result[0].same_as(graph)
    assert result[1] == "end!"


def test_uses_of_a_variable_are_replaced_after_an_unchanged_use(language):
    """A use before the definition changes nothing, so it is skipped until a callback is called."""
    x = language.Var("x", "old")
    use = language.Pair(x, 1)
    result = structural_map([use, use, language.Fn([x], use), use], (str, lambda _: "new"))
    assert [pair.lhs.type for pair in (result[0], result[1], result[3])] == ["old", "old", "new"]
    assert result[2].body.lhs.same_as(result[2].params[0])


def test_orders():
    def grow(value):
        return [*value, 9] if len(value) < 3 else value

    assert structural_map([1], (tvm_ffi.Array, grow)) == tvm_ffi.Array([1, 9])
    pairs = [(tvm_ffi.Array, grow), (int, plus_ten)]
    assert structural_map([1], pairs) == tvm_ffi.Array([11, 9])
    for order in ("pre", WalkOrder.PREORDER):
        assert structural_map([1], pairs, order=order) == tvm_ffi.Array([11, 19])
    with pytest.raises(ValueError, match="structural_map: order must be"):
        structural_map([1], pairs, order=0)


def test_fields_of_defined_variables_are_mapped(language):
    x, y = language.Var("x", [1]), language.Var("y", [1])
    result = structural_map(language.Fn([x], language.Pair(x, y)), (int, plus_ten))
    assert list(result.params[0].type) == [11]
    assert result.body.lhs.same_as(result.params[0])
    assert result.body.rhs.same_as(y)


def test_callbacks_receive_the_kind_of_definition_region(language):
    x, y = language.Var("x"), language.Var("y")
    kinds = []

    def rename(var, kind):
        kinds.append((var.name, kind))
        return language.Var("new") if kind == DefRegionKind.DEF_PATTERN else var

    pairs = (language.Var, rename)
    result = structural_map(language.Fn([x], language.Pair(x, y)), (), pairs)
    assert (result.params[0].name, result.body.lhs.name, result.body.rhs.name) == ("new", "x", "y")
    assert kinds == [("x", DefRegionKind.DEF_PATTERN), ("x", 0), ("y", DefRegionKind.NONE)]


def test_containers_without_other_owners_change_in_place():
    for make in (tvm_ffi.Array, tvm_ffi.List):
        root = make([1, 2])
        address = root.id_
        result = structural_map(root._move(), (int, plus_ten))
        assert (result.id_, list(result), root.id_) == (address, [11, 12], 0)
    root = tvm_ffi.Array([1, 2])
    holder = tvm_ffi.List([root])
    assert structural_map(root._move(), (int, plus_ten)) == tvm_ffi.Array([11, 12])
    assert holder[0] == tvm_ffi.Array([1, 2])


def test_replacements_of_a_wrong_type_are_refused(language):
    names = language.Names(["a", "b"])
    result = structural_map(names, (str, str.upper))
    assert list(result.names) == ["A", "B"]
    with pytest.raises(TypeError):
        structural_map([names], (str, len))
    assert list(names.names) == ["a", "b"]
    assert structural_map([names], (int, plus_ten))[0].same_as(names)


def test_the_path_to_an_error_is_attached(language):
    pair = language.Pair(1, [2, 3])

    def fail(value):
        return 1 // (value - 3)

    with pytest.raises(ZeroDivisionError) as caught:
        structural_map([pair], (int, fail))
    path = list(caught.value.__tvm_ffi_error__.extra_context.reverse_visit_pattern)
    assert [type(value).__name__ for value in path] == ["Array", "Pair", "Array"]
    assert (pair.lhs, list(pair.rhs)) == (1, [2, 3])
    assert structural_map(pair, (int, plus_ten)).lhs == 11


def test_callbacks_may_change_the_mapped_container():
    root = tvm_ffi.List([1, 2, 3])

    def clear(number):
        root.clear()
        return plus_ten(number)

    assert len(structural_map(root, (int, clear))) <= 3
    assert len(root) == 0
    assert structural_map([1], (int, plus_ten)) == tvm_ffi.Array([11])


def test_cyclic_values_are_refused(cyclic):
    for order in ("pre", "post"):
        with pytest.raises((ValueError, RecursionError)):
            structural_map(cyclic, (int, plus_ten), order=order)
    with pytest.raises((ValueError, RecursionError)):
        structural_mutate(cyclic, lambda value, mutator: mutator.default_mutate(value))
    assert cyclic[0] == 1


def test_deeply_nested_values_are_mapped_or_refused():
    value = nested(1000)  # the frames of builds with sanitizers are large
    assert structural_map(value, (int, plus_ten)).same_as(value)
    with pytest.raises(ValueError, match="nested too deep"):
        structural_map(nested(1_000_000), (int, plus_ten))


# ---- Mutations ----------------------------------------------------------------------------------


def test_mutations_descend_only_where_callbacks_do():
    def enter(value, mutator):
        assert type(mutator) is StructuralMutator
        return value if len(value) == 1 else mutator.default_mutate(value)

    pairs = [(tvm_ffi.Array, enter), (int, lambda x, _: plus_ten(x))]
    root = tvm_ffi.Array([1, [2], [3, 4]])
    result = structural_mutate(root, pairs)
    assert result == tvm_ffi.Array([11, [2], [13, 14]])
    assert result[1].same_as(root[1])


def test_mutators_mutate_any_value():
    pairs = [
        (str, lambda text, mutator: mutator.mutate(len(text))),
        (int, lambda x, _: plus_ten(x)),
    ]
    assert structural_mutate(["abc", 1], pairs) == tvm_ffi.Array([13, 11])


def test_mutators_store_replacements_of_variables(language):
    x, y = language.Var("x"), language.Var("y")
    seen = []

    def replace(var, mutator):
        known = mutator.var_remap_get(var)
        seen.append(known)
        if known is None:
            mutator.var_remap_set(var, y)
        return y if known is None else known

    result = structural_mutate(language.Fn([x], language.Pair(x, x)), (language.Var, replace))
    assert seen[0] is None
    assert seen[1].same_as(y)
    assert [v.name for v in (result.params[0], result.body.lhs, result.body.rhs)] == ["y"] * 3
    with pytest.raises(TypeError):
        structural_mutate([1], (int, lambda value, mutator: mutator.var_remap_get(value)))


def test_mutators_open_regions():
    kinds = []

    def enter(value, mutator):
        kinds.append(mutator.def_region_kind())
        inside = mutator.with_def_region_kind(DefRegionKind.DEF_PATTERN, mutator.def_region_kind)
        kinds.append(DefRegionKind(inside))
        return value

    structural_mutate([1], (int, enter))
    assert kinds == [DefRegionKind.NONE, DefRegionKind.DEF_PATTERN]
    with pytest.raises(ValueError, match="0, 1 or 2, got 7"):
        structural_mutate([1], (int, lambda _, mutator: mutator.with_def_region_kind(7, list)))


class _Called:
    def __call__(self, value, mutator):
        return plus_ten(value)

    def method(self, value, mutator, mode):
        return plus_ten(value)


@pytest.mark.parametrize(
    ("callback", "num_arguments"),
    [
        (lambda value, mutator: 2, 2),
        (lambda value, mutator, mode: 3, 3),
        (lambda value, mutator, mode=None: 2 + (mode is not None), 3),
        (lambda value, mutator, *, mode=None: 2 + (mode is not None), 2),
        (lambda *arguments: len(arguments), 3),
        (functools.partial(lambda value, mutator, mode: 3, mode=1), 2),
    ],
)
def test_callbacks_get_the_mode_if_they_take_it(callback, num_arguments):
    expected = 3 if isinstance(callback, functools.partial) else num_arguments
    assert list(structural_mutate([1], (int, callback))) == [expected]


@pytest.mark.parametrize("callback", [_Called(), _Called().method])
def test_callables_of_other_kinds(callback):
    assert list(structural_mutate([1], (int, callback))) == [11]


@pytest.mark.parametrize(
    "callback", [lambda value: value, lambda a, b, c, d: a, lambda: 1, lambda a, b, *, c: a]
)
def test_callbacks_with_other_parameters_are_refused(callback):
    with pytest.raises(TypeError, match=r"takes \(value, mutator\) or \(value, mutator, inplace_m"):
        structural_mutate([1], (int, callback))


def test_the_mode_allows_in_place_changes_without_other_owners():
    modes = []

    def enter(value, mutator, mode):
        modes.append(mode)
        return mutator.default_mutate(value)

    root = tvm_ffi.List([1])
    structural_mutate(root, (tvm_ffi.List, enter))
    structural_mutate(root._move(), (tvm_ffi.List, enter))
    assert modes == [InplaceMode.DISALLOW, InplaceMode.ALLOW]
    assert all(type(mode) is InplaceMode for mode in modes)


@pytest.mark.parametrize("traverse", [structural_map, structural_mutate])
def test_invalid_callbacks_are_refused(traverse):
    with pytest.raises(TypeError, match=f"{traverse.__name__}: expected a callable"):
        traverse([1], 3)
    with pytest.raises(
        TypeError,
        match=f"{traverse.__name__}: callback 0: expected a type of FFI values, got .*complex",
    ):
        traverse([1], (complex, plus_ten))


def test_mutators_cannot_be_constructed_directly():
    with pytest.raises(TypeError, match="`StructuralMutator` cannot be constructed directly"):
        StructuralMutator()
