# SPDX-License-Identifier: Apache-2.0
"""The Tensor class: properties, equality, conversion to NumPy and torch, empty tensors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tvm_ffi
from tvm_ffi import core


def tensor_of(array):
    return tvm_ffi.from_dlpack(array)


@pytest.fixture
def tensor():
    return tensor_of(np.arange(6, dtype=np.float32).reshape(2, 3))


def test_properties(tensor):
    assert tensor.shape == (2, 3)
    assert type(tensor.shape) is tuple
    assert (tensor.ndim, tensor.numel(), tensor.strides) == (2, 6, (3, 1))
    assert tensor.dtype == tvm_ffi.float32
    assert type(tensor.dtype) is tvm_ffi.dtype
    assert tensor.device == tvm_ffi.device("cpu", 0)
    assert tensor.byte_offset == 0
    assert tensor.readonly is False
    assert tensor.__dlpack_device__() == (1, 0)


def test_data_pointer_includes_the_byte_offset(kernels):
    torch = pytest.importorskip("torch")
    base = torch.arange(6.0)
    tensor = tensor_of(base[2:])
    assert tensor.data_ptr() == base.data_ptr() + 8


def test_size_takes_negative_dimensions(tensor):
    assert [tensor.size(i) for i in (0, 1, -1, -2)] == [2, 3, 3, 2]


@pytest.mark.parametrize("dim", [2, 5, -3])
def test_size_of_a_missing_dimension_is_an_index_error(tensor, dim):
    message = f"Dimension {dim} out of range for tensor with 2 dimensions"
    with pytest.raises(IndexError, match=message):
        tensor.size(dim)


def test_size_takes_indices_only(tensor):
    assert tensor.size(np.int64(1)) == 3
    with pytest.raises(TypeError, match="float"):
        tensor.size(1.0)


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.zeros((2, 3)), True),
        (np.zeros((2, 3)).T, False),
        (np.zeros((1, 3)).T, True),
        (np.zeros((4, 3))[::2], False),
        (np.zeros((4, 3))[:1], True),
        (np.zeros((4, 0))[::2], True),
        (np.zeros(()), True),
        (np.broadcast_to(np.zeros(1), (3,)), False),
    ],
)
def test_is_contiguous(array, expected):
    assert tensor_of(array).is_contiguous() is expected


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.zeros((200, 30), np.float32), "float32[200, 30]@cpu:0"),
        (np.zeros((0, 3), np.int8), "int8[0, 3]@cpu:0"),
        (np.zeros(4000, bool), "bool[4000]@cpu:0"),
        (np.zeros(4000, np.complex64), "complex64[4000]@cpu:0"),
    ],
)
def test_repr(array, text):
    assert repr(tensor_of(array)) == text


def test_tensors_compare_and_hash_by_handle(echo, tensor):
    same = tvm_ffi.Tensor.__new__(tvm_ffi.Tensor)
    same.__move_handle_from__(echo(tensor))
    other = tensor_of(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert same is not tensor
    assert same == tensor
    assert same.same_as(tensor)
    assert same.is_(tensor)
    assert hash(same) == hash(tensor)
    assert tensor != other
    assert tensor != 3
    assert not tensor.same_as(3)


def test_handle_accessors(tensor):
    assert tensor.__chandle__() == tensor.id_ != 0
    assert tensor.__ctypes_handle__().value == tensor.__chandle__()


def test_numpy_and_dlpack_give_the_same_memory(tensor):
    array = tensor.numpy()
    assert np.from_dlpack(tensor).ctypes.data == array.ctypes.data == tensor.data_ptr()
    array[1, 2] = 50
    assert np.from_dlpack(tensor)[1, 2] == 50


def test_torch_reads_tensors(tensor):
    torch = pytest.importorskip("torch")
    again = torch.from_dlpack(tensor)
    assert again.data_ptr() == tensor.data_ptr()
    assert again.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_numpy_of_another_device_is_an_error(echo):
    from forged import Source

    with pytest.raises((BufferError, RuntimeError, ValueError)):
        echo(Source(device=(2, 0))).numpy()


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        pytest.param((0, 4, 1), "int4", id="int4"),
        pytest.param((1, 2, 1), "uint2", id="uint2"),
        pytest.param((6, 1, 1), "bool1", id="bool1"),
        pytest.param((17, 4, 1), "float4_e2m1fn", id="float4"),
        pytest.param((15, 6, 1), "float6_e2m3fn", id="float6"),
        pytest.param((2, 32, 4), "float32x4", id="lanes"),
        pytest.param((17, 4, 2), "float4_e2m1fnx2", id="lanes-of-one-byte"),
    ],
)
@pytest.mark.parametrize("shape", [(3,), (0,)], ids=["elements", "empty"])
def test_numpy_of_a_dtype_that_numpy_lacks_is_a_type_error(echo, dtype, name, shape):
    """Regression: NumPy uses a byte per small element, so the array ended after the memory."""
    from forged import Source

    source = Source(shape, (1,), dtype=dtype)
    tensor = echo(source)
    with pytest.raises(TypeError, match=f"NumPy has no dtype for elements of dtype {name}:"):
        tensor.numpy()
    del tensor  # an address before the memory of `source`


def test_numpy_of_a_type_without_a_name_in_numpy_is_a_type_error(echo):
    """A data address may be a handle. Regression: ml_dtypes raised AttributeError."""
    from forged import Source

    source = Source((3,), (1,), dtype=(3, 64, 1))
    tensor = echo(source)
    with pytest.raises(TypeError, match="handle"):
        tensor.numpy()
    del tensor  # an address before the memory of `source`


@pytest.mark.parametrize("use", [iter, lambda t: t[0], lambda t: t + t], ids=["iter", "[]", "+"])
def test_tensors_have_no_array_operators(tensor, use):
    with pytest.raises(TypeError):
        use(tensor)


@pytest.mark.parametrize(
    "name", ["shape", "strides", "ndim", "dtype", "device", "byte_offset", "readonly"]
)
def test_properties_of_an_empty_tensor_are_value_errors(name):
    with pytest.raises(ValueError, match="Tensor is empty"):
        getattr(tvm_ffi.Tensor(), name)


@pytest.mark.parametrize("name", ["numel", "data_ptr", "is_contiguous", "__dlpack__", "numpy"])
def test_methods_of_an_empty_tensor_are_value_errors(name):
    with pytest.raises(ValueError, match="Tensor is empty"):
        getattr(tvm_ffi.Tensor(), name)()


def test_an_empty_tensor_has_a_repr_and_is_refused_as_argument(kernels):
    assert repr(tvm_ffi.Tensor()) == "Tensor(chandle=None)"
    with pytest.raises(ValueError, match="Tensor is empty"):
        kernels.count(tvm_ffi.Tensor())


def test_moved_tensor_is_empty(kernels, tensor):
    taken = kernels.take(core.ObjectRValueRef(tensor))
    assert taken.shape == (2, 3)
    for use in (lambda: tensor.shape, tensor.__dlpack__, lambda: kernels.count(tensor)):
        with pytest.raises(ValueError, match="Tensor is empty"):
            use()


def test_handle_moved_into_another_wrapper(tensor):
    target = tvm_ffi.Tensor()
    target.__move_handle_from__(tensor)
    assert target.shape == (2, 3)
    assert tensor.__chandle__() == 0


def test_the_tensor_class_can_be_replaced(echo, tensor):
    class Own(tvm_ffi.Tensor):
        pass

    core._set_class_tensor(Own)
    try:
        assert type(echo(tensor)) is Own
    finally:
        core._set_class_tensor(tvm_ffi.Tensor)
    with pytest.raises(TypeError, match="expected a class that derives from Tensor"):
        core._set_class_tensor(int)


def test_none_for_a_tensor_parameter_is_a_type_error(kernels):
    with pytest.raises(TypeError, match="expected a tensor"):
        kernels.data_address(None)


def test_shape_type():
    shape = tvm_ffi.Shape(i for i in (2, 3))
    assert shape == (2, 3)
    assert isinstance(shape, tuple)
    assert repr(shape) == "(2, 3)"
    assert type(shape[:1]) is tuple
    assert tvm_ffi.Shape(np.array([1, 2])) == (1, 2)
    assert tvm_ffi.Shape(()) == ()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([1.0], "Shape must be a tuple of integers"),
        (["1"], "Shape must be a tuple of integers"),
        ([None], "Shape must be a tuple of integers"),
        ([2**63], "64 bits"),
        ([-(2**63) - 1], "64 bits"),
    ],
)
def test_wrong_shape_is_a_value_error(content, message):
    with pytest.raises(ValueError, match=message):
        tvm_ffi.Shape(content)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=40))
def test_shapes_round_trip(echo, extents):
    shape = echo(tvm_ffi.Shape(extents))
    assert type(shape) is tvm_ffi.Shape
    assert list(shape) == extents


# ---- random views, compared with NumPy -----------------------------------------------------------

SLICES = st.builds(
    slice,
    st.none() | st.integers(-6, 6),
    st.none() | st.integers(-6, 6),
    st.sampled_from([None, 1, 2, 3, -1, -2]),
)
NAMES = ["bool", "int8", "uint16", "int32", "float16", "float32", "float64", "complex64", "int64"]


@st.composite
def views(draw):
    """Return a view of an array with sliced, permuted and broadcast dimensions."""
    shape = tuple(draw(st.lists(st.integers(0, 5), max_size=5)))
    array = np.arange(int(np.prod(shape))).reshape(shape).astype(draw(st.sampled_from(NAMES)))
    view = np.asarray(array[tuple(draw(SLICES) for _ in shape)])  # an array even if ndim is 0
    view = view.transpose(draw(st.permutations(range(view.ndim))))
    if draw(st.booleans()):
        view = np.broadcast_to(view, (draw(st.integers(1, 3)), *view.shape))
    return view


def passed(view):
    """Return the argument to pass for an array: broadcast arrays are passed as read-only."""
    return view if view.flags.writeable else tvm_ffi.readonly(view)


@given(views())
def test_any_view_round_trips(echo, view):
    tensor = echo(passed(view))
    back = tensor.numpy()
    assert (back.shape, back.dtype) == (view.shape, view.dtype)
    np.testing.assert_array_equal(back, view)
    assert tensor.readonly is not view.flags.writeable
    if view.size:
        assert back.ctypes.data == view.ctypes.data


@given(views())
def test_native_code_sees_the_elements_of_any_view(kernels, view):
    if view.dtype != np.int64 or not view.size:
        view = np.broadcast_to(np.int64(3), (2, 2))
    indices = np.indices(view.shape) + 1
    expected = (view * indices.prod(axis=0)).sum() if view.ndim else view
    assert kernels.weighted_sum(passed(view)) == expected


@given(views())
def test_strides_of_any_view_match_numpy(echo, view):
    tensor = echo(passed(view))
    if view.size:
        assert tensor.strides == tuple(step // view.itemsize for step in view.strides)
