# SPDX-License-Identifier: Apache-2.0
"""Structural equality, structural hash, first mismatch and StructuralKey."""

from __future__ import annotations

import copy
import math
import pickle

import pytest

import tvm_ffi
from tvm_ffi import (
    StructuralKey,
    get_first_structural_mismatch,
    structural_equal,
    structural_hash,
)

from .conftest import nested


@pytest.fixture
def fn(language):
    """Return a function that creates ``fn (name) { name + other }``."""

    def make(name, other):
        var = language.Var(name)
        return language.Fn([var], language.Pair(var, other))

    return make


@pytest.mark.parametrize(
    ("lhs", "rhs", "is_equal"),
    [
        (1, 1, True),
        (1, 1.0, False),
        (1, True, False),
        (math.nan, math.nan, True),
        (0.0, -0.0, False),
        ("a", "a", True),
        ("a" * 50, "a" * 50, True),
        ("a", b"a", False),
        (None, None, True),
        (2**70, 2**70, True),
        ([1, [2]], [1, [2]], True),
        ([1, [2]], [1, [3]], False),
        ([1], [1, 2], False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"a": 2}, False),
        (tvm_ffi.List([1]), tvm_ffi.Array([1]), False),
    ],
)
def test_plain_values(lhs, rhs, is_equal):
    assert structural_equal(lhs, rhs) is is_equal
    assert (structural_hash(lhs) == structural_hash(rhs)) is is_equal
    assert (get_first_structural_mismatch(lhs, rhs) is None) is is_equal


def test_names_of_bound_variables_are_ignored(fn):
    assert structural_equal(fn("x", 1), fn("y", 1))
    assert structural_hash(fn("x", 1)) == structural_hash(fn("y", 1))
    assert not structural_equal(fn("x", 1), fn("x", 2))


def test_free_variables_compare_by_identity_unless_mapped(language):
    a, b = language.Var("a"), language.Var("a")
    assert structural_equal([a, a], [a, a])
    assert not structural_equal([a], [b])
    assert structural_equal([a, a], [b, b], map_free_vars=True)
    assert not structural_equal([a, b], [a, a], True)
    assert structural_hash([a], map_free_vars=True) == structural_hash([b], True)


def test_sharing_of_subexpressions_is_compared(language):
    let = language.Let(1)
    assert structural_equal([let, let], [let, let])
    assert not structural_equal([let, let], [language.Let(1), language.Let(1)])


def test_singletons_are_compared_by_identity(language):
    add, other = language.Op("add"), language.Op("add")
    assert structural_equal(add, add)
    assert not structural_equal(add, other)


def test_ignored_fields_are_not_compared(language):
    assert structural_equal(language.Pair(1, 2, 3), language.Pair(1, 2, 4))


def test_content_of_tensors(language):
    numpy = pytest.importorskip("numpy")
    a, b = (tvm_ffi.from_dlpack(numpy.array([1, n])) for n in (2, 3))
    assert not structural_equal(a, b)
    assert structural_equal(a, b, skip_tensor_content=True)
    assert structural_hash(a, skip_tensor_content=True) == structural_hash(b, False, True)
    assert structural_hash(a) != structural_hash(b)


def test_hashes_are_unsigned_64_bit_numbers():
    """The expected values come from another implementation of the specification."""
    assert structural_hash([1, 2]) == 2823322240268045181
    assert structural_hash("x") == 2654440128
    assert structural_hash(None) == 2654435769
    assert structural_hash([0]) == 15786762492048025812
    assert StructuralKey([0]).hash_i64 == 15786762492048025812 - 2**64


def test_paths_to_the_first_mismatch(fn):
    a, b = get_first_structural_mismatch(fn("x", [1, {"k": 2}]), fn("y", [1, {"k": 3}]))
    assert (repr(a), repr(b)) == ('<root>.body.rhs[1]["k"]',) * 2
    a, b = get_first_structural_mismatch([1], [1, 2])
    assert (repr(a), repr(b)) == ("<root>[<missing:1>]", "<root>[1]")
    assert type(a) is tvm_ffi.access_path.AccessPath


@pytest.mark.parametrize("compare", [structural_equal, get_first_structural_mismatch])
def test_types_without_a_structural_kind_are_refused(compare):
    with pytest.raises(TypeError, match=r"`ffi\.Function`"):
        compare([len], [max])
    with pytest.raises(TypeError, match=r"`ffi\.Function`"):
        structural_hash([len])
    with pytest.raises(TypeError, match=r"`ffi\.Function`"):
        StructuralKey([len])
    assert compare(1, 2) is not None


def test_cyclic_values_are_refused(cyclic):
    other = tvm_ffi.List([1])
    other.append(other)
    with pytest.raises(ValueError, match="nested"):
        structural_equal(cyclic, other)
    with pytest.raises(ValueError, match="nested"):
        structural_hash(cyclic)
    with pytest.raises(ValueError, match="nested"):
        StructuralKey(cyclic)
    other.clear()
    assert structural_equal([1], [1])


def test_deeply_nested_values_are_compared():
    assert structural_equal(nested(100_000), nested(100_000))
    assert structural_hash(nested(100_000)) == structural_hash(nested(100_000))
    assert not structural_equal(nested(100_000), nested(100_001))


# ---- Keys ---------------------------------------------------------------------------------------


def test_keys_in_dicts_and_maps(fn):
    x, y, z = (StructuralKey(fn(name, number)) for name, number in (("x", 1), ("y", 1), ("z", 2)))
    assert (x == y, x != y, x == z, x != z) == (True, False, False, True)
    assert hash(x) == hash(y)
    assert {x: "value"}[y] == "value"
    assert tvm_ffi.Map({x: "value"})[y] == "value"
    assert z not in tvm_ffi.Map({x: "value"})
    assert (x == x.key, x != x.key, x == 1) == (False, True, False)


def test_a_key_has_its_value_and_hash():
    key = StructuralKey([1, 2])
    assert key.key == tvm_ffi.Array([1, 2])
    assert key.hash_i64 == 2823322240268045181
    assert repr(key) == "ffi.StructuralKey(key=(1, 2), hash_i64=2823322240268045181)"
    assert StructuralKey(None).key is None
    with pytest.raises(TypeError):
        StructuralKey()


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_of_keys(duplicate):
    key = StructuralKey([1, "two"])
    copied = duplicate(key)
    assert (type(copied), copied) == (StructuralKey, key)
    assert hash(copied) == hash(key)
