# SPDX-License-Identifier: Apache-2.0
"""JSON text and JSON graphs of the library, compared with Python's json module."""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

ABI = json.loads(
    (Path(__file__).resolve().parents[1] / "abi" / "abi.json").read_text(encoding="utf-8")
)
OBJECT_BEGIN = ABI["type_index"]["kTVMFFIStaticObjectBegin"]
NONE, INT = ABI["type_index"]["kTVMFFINone"], ABI["type_index"]["kTVMFFIInt"]

relaxed = settings(deadline=None, database=None)

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.floats(-1e18, 1e18).map(float.__trunc__).map(float)
    | st.text(),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(), inner, max_size=6),
    max_leaves=30,
)


class Json:
    """The library's JSON functions; their intermediate values stay in native code."""

    def __init__(self, library: Any) -> None:
        self.library = library

    def release(self, value: Any) -> None:
        """Release an owned value."""
        if value.type_index >= OBJECT_BEGIN:
            self.library.functions.TVMFFIObjectDecRef(ctypes.c_void_p(value.payload))

    @contextlib.contextmanager
    def call(self, name: str, *arguments: Any):
        """Return a view of a global function's result."""
        function = ctypes.c_void_p()
        self.library.check(
            self.library.functions.TVMFFIFunctionGetGlobal(
                ctypes.byref(self.library.byte_array(name)), ctypes.byref(function)
            )
        )
        assert function.value is not None, f"no global function is named {name}"
        row = (self.library.any_value * len(arguments))(*arguments)
        result = self.library.any_value()
        code = self.library.functions.TVMFFIFunctionCall(
            function, row, len(arguments), ctypes.byref(result)
        )
        self.library.functions.TVMFFIObjectDecRef(function)
        self.library.check(code)
        try:
            yield result
        finally:
            self.release(result)

    @contextlib.contextmanager
    def text(self, content: str):
        """Return a view of a string, which may contain NUL characters."""
        value = self.library.any_value()
        self.library.check(
            self.library.functions.TVMFFIStringFromByteArray(
                ctypes.byref(self.library.byte_array(content)), ctypes.byref(value)
            )
        )
        try:
            yield value
        finally:
            self.release(value)

    def content(self, value: Any) -> str:
        """Return the content of a borrowed string."""
        if value.type_index >= OBJECT_BEGIN:
            self.library.functions.TVMFFIObjectIncRef(ctypes.c_void_p(value.payload))
        return self.library.take_text(value)

    def apply(self, text: str, *steps: Any) -> str:
        """Return the text after the functions were applied to `text` in this order."""
        with contextlib.ExitStack() as stack:
            value = stack.enter_context(self.text(text))
            for name, *more in steps:
                value = stack.enter_context(self.call(name, value, *more))
            return self.content(value)

    @property
    def none(self) -> Any:
        """The argument None of a JSON function."""
        return self.library.any_value(NONE, 0, 0)


@pytest.fixture(scope="module")
def ffi(library: Any) -> Json:
    """Return the functions under test."""
    return Json(library)


def same(first: Any, second: Any) -> bool:
    """Return a comparable form that distinguishes 1, 1.0 and True, 0.0 and -0.0; NaN equals NaN."""
    return repr(first) == repr(second)


@relaxed
@given(value=VALUES, ascii_only=st.booleans(), indent=st.sampled_from([None, 0, 3]))
def test_text_of_python_survives_parse_and_stringify(ffi, value, ascii_only, indent):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    result = ffi.apply(text, ("ffi.json.Parse",), ("ffi.json.Stringify", ffi.none))
    assert same(json.loads(result), value)


@relaxed
@given(value=VALUES, indent=st.integers(-2, 5))
def test_indented_text_is_the_same_value(ffi, value, indent):
    argument = ffi.library.any_value(INT, 0, indent & 0xFFFFFFFFFFFFFFFF)
    result = ffi.apply(json.dumps(value), ("ffi.json.Parse",), ("ffi.json.Stringify", argument))
    assert same(json.loads(result), value)


@pytest.mark.parametrize("indent", [1000, -1, -(2**31) - 1, -(2**63)])
def test_indent_at_the_end_of_its_range(ffi, indent):
    argument = ffi.library.any_value(INT, 0, indent & 0xFFFFFFFFFFFFFFFF)
    result = ffi.apply("[1]", ("ffi.json.Parse",), ("ffi.json.Stringify", argument))
    assert result == "[\n" + " " * max(indent, 0) + "1\n]"


@pytest.mark.parametrize("indent", [1001, 2**31 - 1, 2**31, 2**32 + 1, 2**63 - 1])
def test_an_indent_that_is_too_large_is_a_value_error(ffi, indent):
    """Regression: the indent was truncated to 32 bits; the rest requested any amount of memory."""
    argument = ffi.library.any_value(INT, 0, indent)
    message = f"indent must (be at most 1000 spaces|fit 32 bits), got {indent}"
    with pytest.raises(Exception, match=message) as caught:
        ffi.apply("[1]", ("ffi.json.Parse",), ("ffi.json.Stringify", argument))
    assert "ValueError" in str(caught.value)


def overflows(value: Any) -> bool:
    """Return True if Python has read a number that is too large for a float as infinity."""
    if isinstance(value, list):
        return any(map(overflows, value))
    if isinstance(value, dict):
        return any(map(overflows, value.values()))
    return isinstance(value, float) and math.isinf(value)


def as_int64_or_float(value: Any) -> Any:
    """Replace integers beyond 64 bits, which Python keeps exact, by floats."""
    if isinstance(value, list):
        return [as_int64_or_float(item) for item in value]
    if isinstance(value, dict):
        return {key: as_int64_or_float(item) for key, item in value.items()}
    is_wide = type(value) is int and not -(2**63) <= value < 2**63
    return float(value) if is_wide else value


SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


@st.composite
def damaged_texts(draw):
    text = json.dumps(draw(VALUES))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        cut = draw(st.integers(0, 2))
        text = (
            text[:at]
            + draw(st.text('0123456789.+-eE"\\/,:[]{} \n\tuntrfabd\0x', max_size=2))
            + text[at + cut :]
        )
    return text


def read_by_python(text: str) -> tuple[Any, bool]:
    """Return (True, value), or (False, None) if the text is malformed."""
    try:
        return json.loads(text), True
    except ValueError:
        return None, False


def read_by_library(ffi: Json, text: str) -> tuple[Any, str]:
    """Return the value as Python's json module reads it, and the error's text."""
    try:
        result = ffi.apply(text, ("ffi.json.Parse",), ("ffi.json.Stringify", ffi.none))
    except ffi.library.raised_error as error:
        return None, str(error)
    return json.loads(result), ""


@settings(relaxed, max_examples=500)
@given(text=damaged_texts())
def test_accepts_the_text_that_python_accepts(ffi, text):
    expected, is_valid = read_by_python(text)
    value, error = read_by_library(ffi, text)
    if error:
        assert re.fullmatch(r"ValueError: .+: line \d+ column \d+ \(char \d+\)", error)
        assert not is_valid or SURROGATE.search(text) or overflows(expected)
    else:
        assert is_valid
        assert same(value, as_int64_or_float(expected))


@pytest.mark.parametrize("text", ["01", "-01", "+1", "1.", ".5", "1.e5", "1e", "-", "[1.]", "[+1]"])
def test_numbers_outside_the_grammar_are_the_errors_of_python(ffi, text):
    """Regression: the parser took some of these texts as numbers."""
    with pytest.raises(ValueError, match=r"char \d") as expected:
        json.loads(text)
    assert read_by_library(ffi, text) == (None, f"ValueError: {expected.value}")


def decode_graph(graph: Any) -> Any:
    """Read a JSON value that was written as a graph; nodes refer to earlier nodes."""
    assert list(graph) == ["root_index", "nodes"]
    values: list[Any] = []
    for node in graph["nodes"]:
        data = node.get("data")
        if node["type"] == "ffi.Array":
            data = [values[index] for index in data]
        elif node["type"] == "ffi.Map":
            keys, items = data[::2], data[1::2]
            data = {values[key]: values[item] for key, item in zip(keys, items)}
        else:
            assert node["type"] in {"None", "bool", "int", "float", "ffi.String"}
        values.append(data)
    return values[graph["root_index"]]


@relaxed
@given(value=VALUES)
def test_graph_of_a_value(ffi, value):
    text = ffi.apply(json.dumps(value), ("ffi.json.Parse",), ("ffi.ToJSONGraphString", ffi.none))
    graph = json.loads(text)
    assert same(decode_graph(graph), value)
    leaves = [node for node in graph["nodes"] if node["type"] not in {"ffi.Array", "ffi.Map"}]
    assert len({repr(node) for node in leaves}) == len(leaves), (
        "equal values have several nodes in the graph; expected one shared node"
    )
    back = ffi.apply(text, ("ffi.FromJSONGraphString",), ("ffi.json.Stringify", ffi.none))
    assert same(json.loads(back), value)


@settings(relaxed, max_examples=300)
@given(data=st.data(), value=VALUES)
def test_damaged_graphs_are_errors_or_values(ffi, data, value):
    graph = json.loads(
        ffi.apply(json.dumps(value), ("ffi.json.Parse",), ("ffi.ToJSONGraphString", ffi.none))
    )
    node = data.draw(st.sampled_from(graph["nodes"]))
    kinds = ["None", "int", "float", "bool", "ffi.String", "ffi.Bytes", "ffi.Array", "ffi.List"]
    kinds += ["ffi.Map", "ffi.Dict", "ffi.Shape", "Device", "DataType", "ffi.BigInt", "ffi.Enum"]
    kinds += ["ffi.Object", "ffi.Function", "void*", "ffi.reflection.AccessStep", "", "x"]
    indices = st.integers(-1, len(graph["nodes"]))
    damage = st.sampled_from([None, 5, 1.5, "YQ==", {}, [], True]) | st.lists(indices, max_size=3)
    node[data.draw(st.sampled_from(["type", "data"]))] = data.draw(st.sampled_from(kinds) | damage)
    with contextlib.suppress(ffi.library.raised_error):
        text = json.dumps(graph)
        result = ffi.apply(text, ("ffi.FromJSONGraphString",), ("ffi.ToJSONGraphString", ffi.none))
        again = ffi.apply(result, ("ffi.FromJSONGraphString",), ("ffi.ToJSONGraphString", ffi.none))
        assert again == result
