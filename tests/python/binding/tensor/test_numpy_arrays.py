# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays as arguments: shared memory, and every layout and dtype that DLPack supports."""

from __future__ import annotations

import gc
import sys
import weakref

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import tvm_ffi

# NumPy dtype name: DLPack type code and bits
DTYPES = {
    "bool": (6, 8),
    "int8": (0, 8),
    "int16": (0, 16),
    "int32": (0, 32),
    "int64": (0, 64),
    "uint8": (1, 8),
    "uint16": (1, 16),
    "uint32": (1, 32),
    "uint64": (1, 64),
    "float16": (2, 16),
    "float32": (2, 32),
    "float64": (2, 64),
    "complex64": (5, 64),
    "complex128": (5, 128),
    # C types whose size depends on the platform
    "longlong": (0, 64),
    "ulonglong": (1, 64),
    "intc": (0, 32),
    "uintc": (1, 32),
}

ML_DTYPES = {
    "bfloat16": (4, 16),
    "float8_e3m4": (7, 8),
    "float8_e4m3": (8, 8),
    "float8_e4m3b11fnuz": (9, 8),
    "float8_e4m3fn": (10, 8),
    "float8_e4m3fnuz": (11, 8),
    "float8_e5m2": (12, 8),
    "float8_e5m2fnuz": (13, 8),
    "float8_e8m0fnu": (14, 8),
}


def cube():
    return np.arange(24, dtype=np.int64).reshape(2, 3, 4)


LAYOUTS = {
    "row-major": cube(),
    "column-major": np.asfortranarray(cube()),
    "transposed": cube().transpose(2, 0, 1),
    "stepped": cube()[:, ::2, 1::2],
    "reversed": cube()[::-1, :, ::-1],
    "reversed-step": cube()[:, ::-2],
    "broadcast": as_strided(np.arange(3), (2, 3, 4), (0, 8, 0)),
    "one-element": cube()[1:, 2:, 3:],
    "vector": np.arange(5),
    "scalar": np.array(7),
    "new-axis": cube()[:, None, :, None],
    "diagonal": np.arange(16)[::5],
    "empty": np.zeros((0,), np.int64),
    "empty-inside": np.zeros((2, 0, 3), np.int64),
    "empty-slice": cube()[:, 3:],
    "eight-dims": np.arange(256).reshape((2,) * 8),
    "nine-dims": np.arange(512).reshape((2,) * 9)[::-1],
    "many-dims": np.arange(6).reshape((1,) * 30 + (2, 3)),
}


def weighted_sum(array):
    """Compute the result of the kernel of the same name with NumPy."""
    indices = np.indices(array.shape) + 1
    return int((array * indices.prod(axis=0)).sum()) if array.ndim else int(array)


@pytest.mark.parametrize("array", LAYOUTS.values(), ids=LAYOUTS)
def test_layout_arrives(echo, array):
    tensor = echo(array)
    assert type(tensor) is tvm_ffi.Tensor
    assert tensor.shape == array.shape
    assert tensor.ndim == array.ndim
    assert tensor.numel() == array.size
    assert tensor.device == tvm_ffi.device("cpu")
    if array.size:
        assert tensor.strides == tuple(step // 8 for step in array.strides)
        assert tensor.data_ptr() == array.ctypes.data
    np.testing.assert_array_equal(tensor.numpy(), array)


@pytest.mark.parametrize("array", LAYOUTS.values(), ids=LAYOUTS)
def test_native_code_reads_the_elements(kernels, array):
    if array.size:
        assert kernels.weighted_sum(array) == weighted_sum(array)


@pytest.mark.parametrize("array", LAYOUTS.values(), ids=LAYOUTS)
def test_contiguity_matches_numpy(echo, array):
    assert echo(array).is_contiguous() == array.flags.c_contiguous


@pytest.mark.parametrize("array", LAYOUTS.values(), ids=LAYOUTS)
def test_kept_array_survives_its_owner(kernels, array):
    expected = array.copy()
    view = array[...]
    kernels.keep(view)
    del view
    gc.collect()
    kept = kernels.kept()
    kernels.forget()
    np.testing.assert_array_equal(kept.numpy(), expected)


def test_native_code_writes_to_the_array_itself(kernels):
    x = np.arange(6, dtype=np.float32)
    y = np.zeros(12, np.float32)
    kernels.add_one(x[::-1], y[1::2])
    assert y.tolist() == [0, 6, 0, 5, 0, 4, 0, 3, 0, 2, 0, 1]


def test_array_is_not_referenced_after_the_call(kernels):
    array = np.zeros(3)
    before = sys.getrefcount(array)
    for _ in range(3):
        kernels.count(array, array)
    assert sys.getrefcount(array) == before


def test_array_is_released_with_the_tensor(echo):
    class Array(np.ndarray):
        pass

    array = np.zeros(3).view(Array)
    alive = weakref.ref(array)
    tensor = echo(array)
    view = tensor.numpy()
    del array, tensor
    gc.collect()
    assert alive() is not None
    del view
    gc.collect()
    assert alive() is None


def test_same_array_twice_in_a_call(kernels):
    x = np.arange(3, dtype=np.float32)
    kernels.add_one(x, x)
    assert x.tolist() == [1, 2, 3]


# ---- dtypes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "code_and_bits"), DTYPES.items(), ids=DTYPES)
def test_dtype_arrives(kernels, echo, name, code_and_bits):
    array = np.zeros(3, name)
    code, bits = code_and_bits
    assert kernels.dtype_triple(array) == code * 65536 + bits * 256 + 1
    dtype = echo(array).dtype
    assert (dtype.type_code, dtype.bits, dtype.lanes) == (code, bits, 1)
    assert str(dtype) == np.dtype(name).name


@pytest.mark.parametrize("name", DTYPES)
def test_a_dtype_round_trips(echo, name):
    array = np.array([0, 1, 1], name)
    back = echo(array).numpy()
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize(("name", "code_and_bits"), ML_DTYPES.items(), ids=ML_DTYPES)
def test_dtype_of_ml_dtypes_arrives(kernels, echo, name, code_and_bits):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.ones((2, 3), getattr(ml_dtypes, name))[:, ::2]
    code, bits = code_and_bits
    assert kernels.dtype_triple(array) == code * 65536 + bits * 256 + 1
    tensor = echo(array)
    assert str(tensor.dtype) == name
    assert (tensor.shape, tensor.strides) == ((2, 2), (3, 2))
    assert tensor.data_ptr() == array.ctypes.data


@pytest.mark.parametrize("name", ["int4", "uint4", "int2", "float4_e2m1fn", "float6_e2m3fn"])
def test_small_dtype_of_ml_dtypes_is_refused(echo, name):
    """NumPy uses one byte per element of these types; DLPack packs the elements without gaps."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.zeros(3, getattr(ml_dtypes, name))
    with pytest.raises(TypeError, match=rf"argument #0 when calling `echo`.*{name}"):
        echo(array)


def test_a_class_named_numpy_ndarray_is_not_an_array(echo):
    """Regression: any object of a class named like an array was read as an array."""
    cls = type("ndarray", (), {"__module__": "numpy"})
    assert type(echo(cls())) is cls


UNSUPPORTED = {
    "structured": np.zeros(2, [("a", "i4"), ("b", "f4")]),
    "object": np.array([None, "x"], object),
    "str": np.array(["a", "b"]),
    "bytes": np.array([b"a", b"b"]),
    "void": np.zeros(2, "V8"),
    "datetime": np.zeros(2, "M8[s]"),
    "timedelta": np.zeros(2, "m8[s]"),
    "record": np.zeros(2, [("a", "i4")]).view(np.recarray),
}
if np.dtype(np.longdouble).itemsize > 8:
    UNSUPPORTED["longdouble"] = np.zeros(2, np.longdouble)
    UNSUPPORTED["clongdouble"] = np.zeros(2, np.clongdouble)


@pytest.mark.parametrize("array", UNSUPPORTED.values(), ids=UNSUPPORTED)
def test_dtype_without_a_dlpack_form_is_refused(kernels, array):
    with pytest.raises(
        TypeError,
        match=r"argument #1 when calling `count`: DLPack has no dtype for the NumPy dtype",
    ):
        kernels.count(1, array)
    with pytest.raises(TypeError, match="NumPy dtype"):
        tvm_ffi.from_dlpack(array)
    assert kernels.count(1, np.zeros(2)) == 2


@pytest.mark.parametrize("name", [">i4", ">f8", ">u2", ">c8"])
def test_foreign_byte_order_is_refused(echo, name):
    array = np.zeros(3, name).view(np.dtype(name))
    if array.dtype.isnative:
        array = array.view(array.dtype.newbyteorder())
    with pytest.raises(TypeError, match="native byte order"):
        echo(array)
    assert echo(array.astype(array.dtype.newbyteorder("="))).shape == (3,)


@pytest.mark.parametrize("name", ["|i1", "=f4", "<i4" if sys.byteorder == "little" else ">i4"])
def test_native_byte_order_in_any_spelling_is_accepted(echo, name):
    assert echo(np.zeros(3, name)).shape == (3,)


# ---- layouts that DLPack cannot describe -------------------------------------------------------


@pytest.mark.parametrize("field", ["b", "c"])
def test_a_stride_that_is_not_a_multiple_of_the_item_size_is_refused(echo, field):
    records = np.zeros(4, np.dtype([("a", "i1"), ("b", "f4"), ("c", "c16")]))
    with pytest.raises(
        ValueError,
        match=r"strides\[0\] must be a multiple of the item size of \d+ bytes, got 21 bytes",
    ):
        echo(records[field])


def test_stride_that_is_a_multiple_of_the_item_size_is_accepted(kernels):
    records = np.zeros(4, [("a", "i8"), ("b", "i8"), ("c", "f8")])
    records["b"] = [1, 2, 3, 4]
    assert kernels.weighted_sum(records["b"]) == 1 + 4 + 9 + 16


def test_strides_of_dimensions_with_at_most_one_element_are_not_checked(echo):
    odd = np.lib.stride_tricks.as_strided(np.zeros(8, np.float32), (1, 4), (3, 4))
    assert echo(odd).shape == (1, 4)
    empty = np.lib.stride_tricks.as_strided(np.zeros(8, np.float32), (0, 4), (3, 4))
    assert echo(empty).shape == (0, 4)


def test_unaligned_data_is_accepted(echo):
    buffer = np.zeros(17, np.uint8)
    array = buffer[1:].view(np.float32)
    assert echo(array).data_ptr() == buffer.ctypes.data + 1


# ---- read-only arrays --------------------------------------------------------------------------


def read_only(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "array",
    [
        read_only(np.arange(3.0)),
        np.broadcast_to(np.float64(1), (3,)),
        np.frombuffer(b"abc", np.uint8),
        read_only(np.arange(3.0))[::-1],
    ],
    ids=["flag", "broadcast", "bytes", "view"],
)
def test_read_only_arrays_stay_read_only(kernels, echo, array):
    assert kernels.count(tvm_ffi.readonly(array)) == 1
    tensor = echo(tvm_ffi.readonly(array))
    assert tensor.readonly
    assert not tensor.numpy().flags.writeable
    assert not np.asarray(tensor).flags.writeable
    assert echo(tvm_ffi.readonly(tensor)).readonly
    assert tvm_ffi.from_dlpack(array).readonly
    np.testing.assert_array_equal(tensor.numpy(), array)


def test_a_read_only_tensor_is_not_exported_without_the_flag(echo):
    tensor = echo(tvm_ffi.readonly(read_only(np.arange(3.0))))
    with pytest.raises(BufferError, match="read-only"):
        tensor.__dlpack__()


def test_writable_array_after_a_read_only_one_is_writable(echo):
    echo(tvm_ffi.readonly(read_only(np.arange(3.0))))
    tensor = echo(np.arange(3.0))
    assert not tensor.readonly
    assert tensor.numpy().flags.writeable


def test_the_read_only_flag_of_the_passed_view_counts(echo):
    base = np.arange(3.0)
    view = base[:]
    view.flags.writeable = False
    assert echo(tvm_ffi.readonly(view)).readonly
    assert not echo(base).readonly


# ---- subclasses and scalars --------------------------------------------------------------------


def test_subclasses_are_passed_as_arrays(echo):
    class Own(np.ndarray):
        pass

    for cls in (Own, np.recarray, np.matrix):
        assert echo(np.zeros((2, 2)).view(cls)).shape == (2, 2)


def test_an_overridden_dlpack_of_a_subclass_is_called(echo):
    class Own(np.ndarray):
        def __dlpack__(self, **arguments):
            return np.arange(5).__dlpack__(**arguments)

    assert echo(np.zeros((2, 2)).view(Own)).shape == (5,)


def test_memory_map_is_passed_without_a_copy(kernels, tmp_path):
    file = tmp_path / "data.bin"
    array = np.memmap(file, np.float32, "w+", shape=(4,))
    kernels.add_one(np.arange(4, dtype=np.float32), array)
    array.flush()
    assert np.fromfile(file, np.float32).tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("scalar", "expected"),
    [
        (np.float32(1.5), 1.5),
        (np.float64(-0.25), -0.25),
        (np.float16(2), 2.0),
        (np.int8(-3), -3),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.bool_(True), True),
        (np.str_("text"), "text"),
        (np.bytes_(b"bytes"), b"bytes"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_scalars_become_plain_values(echo, scalar, expected):
    value = echo(scalar)
    assert value == expected
    assert isinstance(value, type(expected))


# ---- back to NumPy -----------------------------------------------------------------------------


def test_numpy_shares_memory(echo):
    array = np.arange(4.0)
    back = echo(array).numpy()
    back[0] = 9
    assert array[0] == 9
    assert np.shares_memory(array, back)


def test_array_protocol(echo):
    tensor = echo(np.array([1.5, 2.5]))
    assert np.asarray(tensor).tolist() == [1.5, 2.5]
    assert np.asarray(tensor, np.int32).tolist() == [1, 2]
    assert np.add(tensor, 1).tolist() == [2.5, 3.5]
    copy = np.array(tensor, copy=True)
    copy[0] = 7
    assert tensor.numpy()[0] == 1.5


def test_array_protocol_refuses_a_conversion_without_a_copy(echo):
    tensor = echo(np.array([1.5, 2.5]))
    with pytest.raises(ValueError, match="copy"):
        np.asarray(tensor, np.int32, copy=False)


def test_numpy_is_not_imported_for_other_arguments(run_python):
    result = run_python(
        "import sys, tvm_ffi\n"
        "kernels = tvm_ffi.load_module(sys.argv[1])\n"
        "kernels.count(1, 'two', 3.0, b'4', None, tvm_ffi.dtype('int8'), object())\n"
        "print('numpy' in sys.modules)\n"
    )
    assert (result.returncode, result.stdout) == (0, "False\n"), result.stderr
