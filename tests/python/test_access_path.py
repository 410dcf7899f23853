# SPDX-License-Identifier: Apache-2.0
"""Access paths (`AccessPath`) into values."""

from __future__ import annotations

import json
import pickle

import pytest

import tvm_ffi
from tvm_ffi import core
from tvm_ffi.access_path import AccessKind, AccessPath, AccessStep
from tvm_ffi.serialization import from_json_graph_str

ROOT = AccessPath.root()


@pytest.fixture(scope="module", autouse=True)
def _registered_step_class():
    """Register the package's class for steps; other tests of this process register another one."""
    index = core._object_type_key_to_index("ffi.reflection.AccessStep")
    earlier = core._type_index_to_type_info(index).type_cls
    core._register_object_by_index(index, AccessStep)
    yield
    core._register_object_by_index(index, earlier)


@pytest.mark.parametrize(
    ("path", "kind", "key", "text"),
    [
        (ROOT.attr("x"), AccessKind.ATTR, "x", "<root>.x"),
        (ROOT.array_item(2), AccessKind.ARRAY_ITEM, 2, "<root>[2]"),
        (ROOT.map_item("k"), AccessKind.MAP_ITEM, "k", '<root>["k"]'),
        (ROOT.attr_missing("x"), AccessKind.ATTR_MISSING, "x", '<root>[<missing:"x">]'),
        (ROOT.array_item_missing(2), AccessKind.ARRAY_ITEM_MISSING, 2, "<root>[<missing:2>]"),
        (ROOT.map_item_missing("k"), AccessKind.MAP_ITEM_MISSING, "k", '<root>[<missing:"k">]'),
    ],
)
def test_steps(path, kind, key, text):
    assert type(path) is AccessPath
    assert type(path.step) is AccessStep
    assert (path.step.kind, path.step.key, path.depth, repr(path)) == (kind, key, 1, text)
    assert type(path.step.kind) is int
    assert path.parent == ROOT


def test_values_of_access_kind():
    present = [AccessKind.ATTR, AccessKind.ARRAY_ITEM, AccessKind.MAP_ITEM]
    assert present == [0, 1, 2]
    assert [AccessKind[f"{kind.name}_MISSING"] for kind in present] == [3, 4, 5]


def test_the_root_has_no_step_and_no_parent():
    assert (ROOT.step, ROOT.parent, ROOT.depth) == (None, None, 0)
    assert list(ROOT.to_steps()) == []
    assert repr(ROOT) == "<root>"


def test_extending_a_path_does_not_change_its_prefix():
    path = ROOT.attr("x").array_item(2).map_item("k")
    assert [(step.kind, step.key) for step in path.to_steps()] == [(0, "x"), (1, 2), (2, "k")]
    assert (path.depth, repr(path.parent)) == (3, "<root>.x[2]")
    assert (ROOT.depth, repr(ROOT)) == (0, "<root>")


def test_paths_compare_and_hash_by_their_steps():
    key = tvm_ffi.Array(["k"])  # compared by identity natively
    same = [ROOT.map_item(key).attr("y"), ROOT.map_item(key).attr("y")]
    assert not same[0].same_as(same[1])
    assert same[0] == same[1]
    assert {same[0]: 1}[same[1]] == 1
    assert ROOT.map_item(tvm_ffi.List([1])) != ROOT.map_item(tvm_ffi.List([1]))
    assert ROOT.attr("x").array_item(1) == AccessPath.root().attr("x").array_item(1)
    assert hash(ROOT.attr("x").array_item(1)) == hash(AccessPath.root().attr("x").array_item(1))
    assert ROOT.array_item(1) != ROOT.array_item(2)
    assert ROOT.array_item(1) != ROOT.map_item(1)  # another kind of step
    assert ROOT.map_item(1) != ROOT.map_item(1.0)
    assert ROOT.map_item(float("nan")) == ROOT.map_item(float("nan"))
    assert hash(ROOT.map_item(float("nan"))) == hash(ROOT.map_item(float("nan")))
    assert ROOT != "<root>"


def test_prefixes():
    long, short = ROOT.attr("x").array_item(2), ROOT.attr("x")
    assert short.is_prefix_of(long)
    assert long.is_prefix_of(long)
    assert not long.is_prefix_of(short)
    assert not ROOT.attr("y").is_prefix_of(long)


def test_paths_and_steps_cannot_be_constructed_directly():
    with pytest.raises(ValueError, match=r"create a path with AccessPath\.root\(\)"):
        AccessPath()
    with pytest.raises(TypeError, match="`AccessStep` cannot be constructed directly"):
        AccessStep()


@pytest.mark.parametrize(
    "extend",
    [
        lambda path: path.attr(3),
        lambda path: path.array_item("x"),
        lambda path: path.array_item(None),
        lambda path: path.is_prefix_of("x"),
        lambda path: path.is_prefix_of(None),
    ],
)
def test_steps_of_the_wrong_type_are_refused(extend):
    with pytest.raises(TypeError, match="Mismatched type on argument"):
        extend(ROOT)
    assert repr(ROOT.attr("x")) == "<root>.x"


def test_fields_are_read_only():
    for path, name in ((ROOT, "parent"), (ROOT, "depth"), (ROOT.attr("x").step, "kind")):
        with pytest.raises(AttributeError):
            setattr(path, name, None)


def test_paths_can_be_pickled():
    path = ROOT.attr("x").map_item("k").array_item(3)
    copied = pickle.loads(pickle.dumps(path))
    assert (copied, type(copied), repr(copied)) == (path, AccessPath, '<root>.x["k"][3]')


def test_long_paths_are_created_compared_and_released():
    def make():
        path = AccessPath.root()
        for i in range(100_000):
            path = path.array_item(i)
        return path

    a, b = make(), make()
    assert a == b
    assert hash(a) == hash(b)
    assert a.is_prefix_of(b)
    assert len(a.to_steps()) == 100_000


def test_paths_from_native_code_have_the_class_without_an_import(run_python):
    """The class is registered when the first path arrives."""
    result = run_python(
        "import sys, tvm_ffi\n"
        "assert 'tvm_ffi.access_path' not in sys.modules\n"
        "mismatch = tvm_ffi.get_global_func('ffi.GetFirstStructuralMismatch')\n"
        "pair = mismatch([1, 2], [1, 3], False, False)\n"
        "print(pair[0], type(pair[0]) is tvm_ffi.access_path.AccessPath)\n"
    )
    assert (result.returncode, result.stdout) == (0, "<root>[1] True\n"), result.stderr


def test_a_user_class_is_not_replaced_by_a_later_import(run_python):
    result = run_python(
        "import tvm_ffi\n"
        "@tvm_ffi.register_object('ffi.reflection.AccessPath')\n"
        "class Mine(tvm_ffi.Object):\n"
        "    pass\n"
        "import tvm_ffi.access_path\n"
        "mismatch = tvm_ffi.get_global_func('ffi.GetFirstStructuralMismatch')\n"
        "print(type(mismatch(1, 2, False, False)[0]) is Mine)\n"
    )
    assert (result.returncode, result.stdout) == (0, "True\n"), result.stderr


def _path_of_graph(fields, last=7):
    """Return a path from a JSON graph, whose parent is `<root>.x`; fields replace its own."""
    nodes = [
        {"type": "None"},
        {"type": "ffi.reflection.AccessPath", "data": {"parent": 0, "step": 0, "depth": 0}},
        {"type": "ffi.String", "data": "x"},
        {"type": "ffi.reflection.AccessStep", "data": {"kind": 0, "key": 2}},
        {"type": "ffi.reflection.AccessPath", "data": {"parent": 1, "step": 3, "depth": 1}},
        {"type": "int", "data": 3},
        {"type": "ffi.reflection.AccessStep", "data": {"kind": 1, "key": 5}},
        {
            "type": "ffi.reflection.AccessPath",
            "data": {"parent": 4, "step": 6, "depth": 2, **fields},
        },
    ]
    return from_json_graph_str(json.dumps({"root_index": last, "nodes": nodes}))


def test_paths_are_read_from_json_graphs():
    path = _path_of_graph({})
    assert path == ROOT.attr("x").array_item(3)
    assert hash(path) == hash(ROOT.attr("x").array_item(3))


@pytest.mark.parametrize(
    "fields",
    [
        {"parent": 0},
        {"parent": 6},
        {"parent": 1},
        {"step": 0},
        {"depth": 1},
        {"depth": 3},
        {"depth": 2**31 - 1},
    ],
)
def test_inconsistent_paths_from_json_graphs_are_refused(fields):
    """The depth was not checked, and a parent of any type was read as a path."""
    path = _path_of_graph(fields)
    other = _path_of_graph(fields)
    for use in (
        path.to_steps,
        lambda: hash(path),
        lambda: path == other,
        lambda: path.is_prefix_of(other),
        lambda: ROOT.is_prefix_of(path),
        lambda: path.attr("y").to_steps(),
    ):
        with pytest.raises(ValueError, match="a step, and a parent whose depth is one less"):
            use()
    assert repr(path).startswith("<root>")


def test_a_negative_depth_in_a_json_graph_means_no_steps():
    """A vector with the negative depth as its size was allocated."""
    path = _path_of_graph({"depth": -2})
    assert list(path.to_steps()) == []
    assert path != ROOT
    with pytest.raises(ValueError, match="a step, and a parent whose depth is one less"):
        path.is_prefix_of(ROOT)
