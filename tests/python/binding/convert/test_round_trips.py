# SPDX-License-Identifier: Apache-2.0
"""Round trips: values pass through native code and come back unchanged."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from forged import Source
from hypothesis import given
from hypothesis import strategies as st

import tvm_ffi
from tvm_ffi import Array, Dict, List, Map

# ---- nested values -------------------------------------------------------------------------------

# One NaN object for all keys, because dicts distinguish NaNs by identity and native tables do not.
FLOATS = st.floats(allow_nan=False) | st.just(math.nan)
INTS = st.integers() | st.integers(-(2**80), 2**80) | st.sampled_from([2**63, -(2**63), 2**64])
KEYS = st.none() | st.booleans() | INTS | FLOATS | st.text() | st.binary()
LEAVES = KEYS | st.floats()  # all NaNs
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=20)
        | st.tuples(inner, inner)
        | st.dictionaries(KEYS, inner, max_size=12)
    ),
    max_leaves=25,
)


def form(value):
    """Return a string of all that native code distinguishes: types, float bits, order of pairs."""
    if isinstance(value, float):
        return struct.pack("d", value).hex()
    if isinstance(value, (list, tuple, Array, List)):
        return f"[{', '.join(map(form, value))}]"
    if isinstance(value, (dict, Map, Dict)):
        return f"{{{', '.join(f'{form(k)}: {form(v)}' for k, v in value.items())}}}"
    return f"{type(value).__name__} {value!r}"


@given(VALUES)
def test_nested_values_come_back_unchanged(echo, value):
    assert form(echo(value)) == form(value)


@given(VALUES)
def test_nested_values_reach_callbacks_unchanged(kernels, value):
    seen = []
    result = kernels.call(lambda x: [seen.append(form(x)), x], value)
    assert seen == [form(value)]
    assert form(result[1]) == form(value)


@given(VALUES)
def test_converted_containers_have_the_same_elements(echo, value):
    if isinstance(value, (list, tuple)):
        assert form(echo(List(value))) == form(Array(value)) == form(value)
    if isinstance(value, dict):
        assert form(echo(Dict(value))) == form(Map(value)) == form(value)


@given(st.dictionaries(KEYS, st.integers(), max_size=30))
def test_every_key_is_found_in_a_converted_dict(echo, table):
    native = echo(table)
    assert len(native) == len(table)
    for key, value in table.items():
        assert native[key] == value
        assert key in native


@given(VALUES, st.sampled_from(["list", "key", "value", "text"]))
def test_lone_surrogate_anywhere_is_refused(echo, value, location):
    broken = "a\ud800"
    nested = {
        "list": [value, [broken]],
        "key": {1: value, broken: 2},
        "value": {"a": [value], "b": (1, broken)},
        "text": broken,
    }[location]
    with pytest.raises(UnicodeEncodeError, match="surrogates not allowed"):
        echo(nested)


# ---- tensors, against NumPy and torch ------------------------------------------------------------


@st.composite
def layouts(draw, num_items=12, is_negative_allowed=True):
    """Return offset, shape and strides, in elements, of a layout within `num_items` elements."""
    shape = tuple(draw(st.lists(st.integers(0, 4), max_size=4)))
    strides, low, high = [], 0, 0
    for extent in shape:
        steps = max(extent - 1, 0)
        room = num_items - 1 - (high - low)
        most = room // steps if steps else 5
        stride = draw(st.integers(-most if is_negative_allowed else 0, most))
        strides.append(stride)
        low += min(stride * steps, 0)
        high += max(stride * steps, 0)
    offset = draw(st.integers(-low, num_items - 1 - high))
    return offset, shape, tuple(strides)


def strided(base, offset, shape, strides):
    """Return a NumPy view with this layout."""
    return np.lib.stride_tricks.as_strided(
        base[offset:], shape, [step * base.itemsize for step in strides]
    )


@given(layouts())
def test_exported_layouts_match_numpy(echo, layout):
    offset, shape, strides = layout
    source = Source(shape, strides or None, byte_offset=4 * offset)
    tensor = echo(source)
    expected = strided(np.arange(12, dtype=np.float32), offset, shape, strides)
    assert (tensor.shape, tensor.ndim) == (shape, len(shape))
    assert tensor.strides == strides
    assert tensor.data_ptr() == source.address + 4 * offset
    assert tensor.numel() == expected.size
    np.testing.assert_array_equal(tensor.numpy(), expected)
    if expected.size:
        assert tensor.is_contiguous() == expected.flags.c_contiguous
        np.testing.assert_array_equal(np.from_dlpack(tensor), expected)


TORCH_NAMES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16"]
TORCH_NAMES += ["float32", "float64", "complex64", "complex128"]


@given(layouts(is_negative_allowed=False), st.sampled_from(TORCH_NAMES))
def test_torch_layouts_match_torch(kernels, layout, name):
    torch = pytest.importorskip("torch")
    offset, shape, strides = layout
    base = torch.arange(12).to(getattr(torch, name))
    view = base.as_strided(shape, strides, offset)
    assert kernels.echo(view) is view
    tensor = kernels.call(lambda x: x.__chandle__() and [x.shape, x.strides, str(x.dtype)], view)
    assert [tuple(tensor[0]), tensor[2]] == [shape, name]
    back = torch.from_dlpack(tvm_ffi.from_dlpack(view))
    assert back.dtype == view.dtype
    assert torch.equal(back, view)
    if view.numel():
        assert tuple(tensor[1]) == strides
        assert back.data_ptr() == view.data_ptr()
        assert tvm_ffi.from_dlpack(view).is_contiguous() == view.is_contiguous()


@given(layouts(is_negative_allowed=False))
def test_kernels_read_the_elements_of_torch_views(kernels, layout):
    torch = pytest.importorskip("torch")
    offset, shape, strides = layout
    view = torch.arange(12).as_strided(shape, strides, offset)
    weights = torch.ones((), dtype=torch.int64)
    for extent in shape:
        weights = weights.unsqueeze(-1) * torch.arange(1, extent + 1)
    if view.numel():
        assert kernels.weighted_sum(view) == int((view * weights).sum())


@given(layouts(), st.integers(0, 1))
def test_tensors_in_nested_values_keep_their_layout(echo, layout, at):
    offset, shape, strides = layout
    view = strided(np.arange(12, dtype=np.int16), offset, shape, strides)
    outer = echo([{"a": [view, "text"]}, (view,)])
    tensor = outer[0]["a"][0] if at == 0 else outer[1][0]
    np.testing.assert_array_equal(tensor.numpy(), view)
