# SPDX-License-Identifier: Apache-2.0
"""JSON graphs from Python (`tvm_ffi.serialization`); tests/runtime tests the format itself."""

from __future__ import annotations

import math

import pytest

import tvm_ffi
from tvm_ffi import Array, Dict, List, Map, Shape, serialization
from tvm_ffi.serialization import from_json_graph_str, to_json_graph_str


def test_json_of_a_graph():
    assert to_json_graph_str([1, "a"]) == (
        '{"root_index":2,"nodes":[{"type":"int","data":1},{"type":"ffi.String","data":"a"},'
        '{"type":"ffi.Array","data":[0,1]}]}'
    )
    assert tvm_ffi.serialization is serialization


def test_metadata_are_written():
    assert to_json_graph_str(None, {"version": "1", "count": 2}) == (
        '{"root_index":0,"nodes":[{"type":"None"}],"metadata":{"version":"1","count":2}}'
    )


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        7,
        -1.5,
        math.inf,
        2**80,
        "text \u00fc \U0001f600",
        b"\x00\xff",
        tvm_ffi.dtype("float8_e5m2"),
        tvm_ffi.device("cuda", 2),
        Shape((1, 0, 3)),
        Array([1, [2.5, None]]),
        List([1, "a"]),
        Map({"a": 1, 2: b"b"}),
        Dict({"a": Array([])}),
    ],
    ids=repr,
)
def test_values_round_trip(value):
    made = from_json_graph_str(to_json_graph_str(value))
    assert made == value
    assert type(made) is type(value)


def test_a_shared_object_stays_shared():
    shared = List([1])
    first, second = from_json_graph_str(to_json_graph_str([shared, shared]))
    assert first.same_as(second)


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        pytest.param(tvm_ffi.get_global_func("ffi.Array"), TypeError,
                     r"Type `ffi\.Function` does not support ToJSONGraph", id="function"),
        pytest.param(tvm_ffi.Object(), ValueError, "Object is empty", id="empty-object"),
        pytest.param({1, 2}, TypeError, r"Type `ffi\.OpaquePyObject`", id="opaque"),
    ],
)  # fmt: skip
def test_unsupported_values_are_refused(value, error, message):
    with pytest.raises(error, match=message):
        to_json_graph_str(value)


def test_list_in_itself_is_a_value_error():
    value = List([1])
    value.append(value)
    with pytest.raises(ValueError, match="Cycle"):
        to_json_graph_str(value)
    value.clear()


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("{", ValueError, r"Expecting property name enclosed in double quotes: line 1 column 2"),
        ("{}", ValueError, "expected `root_index` integer field"),
        ('{"root_index":5,"nodes":[]}', ValueError, "invalid node index 5"),
        (
            '{"root_index":0,"nodes":[{"type":"no.such"}]}',
            ValueError,
            "node 0: Cannot find type `no.such`",
        ),
    ],
    ids=["no-json", "no-graph", "no-node", "no-type"],
)
def test_malformed_graphs_are_refused(text, error, message):
    with pytest.raises(error, match=message):
        from_json_graph_str(text)
