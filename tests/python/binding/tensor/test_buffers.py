# SPDX-License-Identifier: Apache-2.0
"""Python buffers as tensors, and columns of tables, which have to be converted first."""

from __future__ import annotations

import array
import ctypes
import gc
import mmap
import pickle
import struct
import sys
import weakref

import numpy as np
import pytest

import tvm_ffi
import tvm_ffi.testing

TENSOR, OPAQUE = 70, 74
TEXT = "w" if sys.version_info >= (3, 13) else "u"  # the type code of characters

# type code of array.array: dtype of the tensor
TYPECODES = {
    "b": "int8",
    "B": "uint8",
    "h": "int16",
    "H": "uint16",
    "i": "int32",
    "I": "uint32",
    "q": "int64",
    "Q": "uint64",
    "l": f"int{8 * array.array('l').itemsize}",
    "L": f"uint{8 * array.array('L').itemsize}",
    "f": "float32",
    "d": "float64",
}


@pytest.mark.parametrize(("typecode", "dtype"), TYPECODES.items())
def test_an_array_is_a_tensor_over_its_memory(kernels, typecode, dtype):
    values = array.array(typecode, [1, 2, 3])
    for tensor in (tvm_ffi.from_dlpack(values), tvm_ffi.convert(values), kernels.echo(values)):
        assert type(tensor) is tvm_ffi.Tensor
        assert (str(tensor.dtype), tensor.shape, tensor.strides) == (dtype, (3,), (1,))
        assert tensor.tolist() == [1, 2, 3]
        assert tensor.data_ptr() == values.buffer_info()[0]
        assert not tensor.readonly


def test_native_code_writes_into_a_buffer(kernels):
    x, y = array.array("f", [1, 2, 3]), array.array("f", [0, 0, 0])
    kernels.add_one(x, y)
    assert y.tolist() == [2, 3, 4]
    kernels.add_one(memoryview(x), memoryview(y)[::-1])
    assert y.tolist() == [4, 3, 2]


# format of a memoryview: dtype of the tensor
FORMATS = {"?": "bool", "c": "uint8", "B": "uint8", "n": "int64", "N": "uint64", "d": "float64"}


@pytest.mark.parametrize(("code", "dtype"), FORMATS.items())
def test_formats_of_a_memoryview(kernels, code, dtype):
    view = memoryview(bytearray(8)).cast(code)
    assert str(kernels.echo(view).dtype) == dtype
    assert kernels.echo(view).shape == (8 // view.itemsize,)


def test_complex_numbers_and_explicit_byte_orders():
    native, foreign = ("<", ">") if struct.pack("=H", 1)[0] else (">", "<")
    for code in ("i4", "f2", "f8", "c8", "c16"):
        values = np.arange(3).astype(native + code)
        tensor = tvm_ffi.from_dlpack(memoryview(values))
        np.testing.assert_array_equal(tensor.numpy(), values)
    ctypes_view = memoryview((ctypes.c_int32 * 3)(1, 2, 3))  # its format begins with a byte order
    assert tvm_ffi.from_dlpack(ctypes_view).tolist() == [1, 2, 3]
    with pytest.raises(TypeError, match=r"DLPack has no dtype for a buffer of format '.f'"):
        tvm_ffi.from_dlpack(memoryview(np.zeros(3, f"{foreign}f4")))


def test_views_keep_shape_and_strides(kernels):
    values = np.arange(24.0).reshape(2, 3, 4)
    for view in (values, values[::-1], values.transpose(2, 0, 1), values[:, ::2, 1::2], values[0]):
        tensor = kernels.echo(memoryview(view))
        assert tensor.shape == view.shape
        np.testing.assert_array_equal(tensor.numpy(), view)
    assert kernels.echo(memoryview(np.array(7.0))).item() == 7
    assert kernels.echo(memoryview(values)).strides == (12, 4, 1)
    assert kernels.echo(array.array("d")).shape == (0,)
    assert kernels.echo(memoryview(np.zeros((2, 0, 3)))).shape == (2, 0, 3)


def test_strides_that_are_no_multiple_of_the_item_size_are_refused():
    fields = np.zeros(3, [("a", "i4"), ("b", "i1")])["a"]
    with pytest.raises(ValueError, match=r"strides\[0\] must be a multiple .* 4 bytes, got 5 byte"):
        tvm_ffi.from_dlpack(memoryview(fields))


def mmap_of(content):
    mapped = mmap.mmap(-1, len(content))
    mapped[:] = content
    return memoryview(mapped).toreadonly()


@pytest.mark.parametrize("make", [bytes, mmap_of], ids=["bytes", "mmap"])
def test_read_only_buffers_keep_the_rule_of_read_only_arrays(kernels, make):
    view = memoryview(make(b"abc"))
    with pytest.raises(BufferError, match="argument #0 .*`echo`: the array is read-only"):
        kernels.echo(view)
    assert kernels.echo(tvm_ffi.readonly(view)).readonly
    tensor = tvm_ffi.from_dlpack(view)
    assert tensor.readonly
    assert tensor.tolist() == [97, 98, 99]
    with pytest.raises(BufferError, match="the array is read-only"):
        kernels.echo(tensor)
    assert tvm_ffi.Array([view])[0].readonly
    assert tvm_ffi.convert(lambda x: x.readonly)(view)


def test_a_writable_map_is_a_tensor(kernels):
    with mmap.mmap(-1, 12) as mapped:
        assert kernels.type_index(mapped) == TENSOR
        kernels.add_one(np.zeros(3, np.float32), memoryview(mapped).cast("f"))
        assert mapped[:] == struct.pack("=3f", 1, 1, 1)


def test_the_buffer_stays_acquired_as_long_as_the_tensor(kernels):
    values = array.array("d", [1, 2])
    kernels.count(values)
    values.append(3)  # the call has released the buffer
    tensor = tvm_ffi.from_dlpack(values)
    with pytest.raises(BufferError):
        values.append(4)
    del tensor
    values.append(4)
    kernels.keep(values)
    del values
    gc.collect()
    kept = kernels.kept()
    kernels.forget()
    assert kept.tolist() == [1, 2, 3, 4]


def test_the_owner_of_a_buffer_is_released(kernels):
    class Own(array.array):
        pass

    values = Own("d", [1])
    alive = weakref.ref(values)
    kernels.count(values, [values], tvm_ffi.readonly(values))
    tensor = tvm_ffi.from_dlpack(values)
    del values
    assert alive() is not None
    del tensor
    assert alive() is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (array.array(TEXT, "ab"), "no dtype for a buffer of format '[uw]'"),
        (memoryview(np.zeros(2, "i4,f4")), "no dtype for a buffer of format 'T{"),
        (memoryview(bytearray(8)).cast("P"), "no dtype for a buffer of format 'P'"),
        (memoryview(np.zeros(2, np.longdouble)), "no dtype for a buffer of format 'g'"),
    ],
    ids=["text", "structs", "pointers", "long double"],
)
def test_formats_that_dlpack_lacks_are_refused(kernels, value, text):
    for use in (kernels.count, tvm_ffi.from_dlpack, lambda x: kernels.count([x])):
        with pytest.raises(TypeError, match=text):
            use(value)
    assert kernels.count(array.array("d")) == 1


def test_a_released_memoryview_is_refused(kernels):
    view = memoryview(bytearray(3))
    view.release()
    for use in (kernels.count, tvm_ffi.from_dlpack):
        with pytest.raises(ValueError, match="released memoryview"):
            use(view)


def test_other_classes_with_buffers_are_passed_as_before(kernels, echo):
    assert echo(b"abc") == b"abc"
    assert echo(bytearray(b"abc")) == b"abc"
    for value in (
        ctypes.c_int(5),
        (ctypes.c_int * 3)(1, 2, 3),
        ctypes.create_string_buffer(8),
        np.datetime64("2020-01-01"),
    ):
        assert kernels.type_index(value) == OPAQUE
        assert echo(value) is value
    assert kernels.type_index(np.float32(1)) != TENSOR


def test_bytes_and_c_arrays_are_no_tensors_without_a_memoryview():
    for value in (b"abc", bytearray(b"abc"), (ctypes.c_int * 3)(1, 2, 3)):
        for use in (tvm_ffi.from_dlpack, tvm_ffi.readonly):
            with pytest.raises(TypeError, match=r"; pass its elements .* `memoryview\(\.\.\.\)`$"):
                use(value)
        assert tvm_ffi.from_dlpack(memoryview(value)).shape == (3,)


def test_a_buffer_can_be_pickled_as_a_tensor():
    tensor = tvm_ffi.from_dlpack(array.array("d", [1, 2]))
    assert pickle.loads(pickle.dumps(tensor)).tolist() == [1, 2]


def test_a_buffer_is_accepted_by_a_type_schema():
    schema = tvm_ffi.core.TypeSchema.from_annotation(tvm_ffi.Tensor)
    converted = schema.convert(array.array("d", [1, 2]))
    assert tvm_ffi.core._to_py_class_value(converted).tolist() == [1, 2]


# ---- columns of tables -------------------------------------------------------------------------


class Column:
    """A class such as `pandas.Series`: neither a buffer nor a DLPack array."""

    def __init__(self, values):
        self.values = np.array(values)

    def __array__(self, dtype=None, copy=None):
        return self.values


class NamedColumn(Column):
    def to_numpy(self):
        return self.values


TAKES_A_TENSOR = tvm_ffi.get_global_func("testing.make_array_with_tensor")


def check_refused(value, name, remedy):
    """Check that `value` is refused where a tensor is expected, and is an opaque object else."""
    text = f"got `{name}`; pass its elements as an array, with `{remedy}`"
    with pytest.raises(TypeError) as caught:
        tvm_ffi.from_dlpack(value)
    cls = type(value)
    assert f"got {cls.__module__}.{cls.__qualname__}; pass its" in str(caught.value)
    assert str(caught.value).endswith(f"with `{remedy}`")
    with pytest.raises(TypeError) as caught:
        TAKES_A_TENSOR(value)
    assert "Expected `Tensor`" in str(caught.value)
    assert str(caught.value).endswith(text)
    with pytest.raises(TypeError, match="pass its elements as an array"):
        tvm_ffi.readonly(value)
    assert tvm_ffi.convert(lambda x: x is value)(value)


def test_columns_are_refused_with_their_class_and_the_remedy():
    """Regression: the error named neither the class nor the remedy."""
    for cls, remedy in ((Column, "numpy.asarray(...)"), (NamedColumn, ".to_numpy()")):
        check_refused(cls([1.0, 2.0]), f"{__name__}.{cls.__name__}", remedy)
    assert TAKES_A_TENSOR(NamedColumn([1.0]).to_numpy())[0].tolist() == [1]


def test_the_remedy_is_given_only_where_a_tensor_is_expected():
    with pytest.raises(TypeError) as caught:
        tvm_ffi.get_global_func("testing.make_array_with_mixed")(np.zeros(1), NamedColumn([1]))
    assert str(caught.value).endswith(f"Expected `int` but got `{__name__}.NamedColumn`")


def test_series_of_pandas():
    pandas = pytest.importorskip("pandas")
    check_refused(pandas.Series([1.0, 2.0]), "pandas.Series", ".to_numpy()")
    check_refused(pandas.DataFrame({"a": [1.0]}), "pandas.DataFrame", ".to_numpy()")
    column = pandas.Series([1.0, 2.0]).to_numpy()
    assert TAKES_A_TENSOR(tvm_ffi.readonly(column))[0].tolist() == [1, 2]


def test_series_of_polars():
    polars = pytest.importorskip("polars")
    name = tvm_ffi._binding.object.type_names.public_name(polars.Series)
    check_refused(polars.Series([1.0, 2.0]), name, ".to_numpy()")


def test_arrays_of_pyarrow(kernels):
    pyarrow = pytest.importorskip("pyarrow")
    name = tvm_ffi._binding.object.type_names.public_name(pyarrow.ChunkedArray)
    check_refused(pyarrow.chunked_array([[1.0], [2.0]]), name, ".to_numpy()")
    values = pyarrow.array([1.0, 2.0])
    for tensor in (tvm_ffi.from_dlpack(values), kernels.echo(values), tvm_ffi.convert(values)):
        assert tensor.tolist() == [1, 2]
        assert tensor.readonly
    with pytest.raises(TypeError, match="nulls") as caught:
        kernels.echo(pyarrow.array([1.0, None]))
    notes = "".join(caught.value.__notes__) if hasattr(caught.value, "__notes__") else ""
    assert "pass its elements as an array, with `.to_numpy()`" in notes + str(caught.value)
    assert kernels.echo(tvm_ffi.readonly(pyarrow.py_buffer(b"ab"))).tolist() == [97, 98]
