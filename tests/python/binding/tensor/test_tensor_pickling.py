# SPDX-License-Identifier: Apache-2.0
"""Pickling and copying of tensors: content, out-of-band buffers, cost, refused tensors."""

from __future__ import annotations

import copy
import gc
import pickle
import time
import weakref

import ml_dtypes
import numpy as np
import pytest
from forged import Source

import tvm_ffi
from tvm_ffi import Tensor, from_dlpack

PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)


def round_trip(value, protocol=pickle.HIGHEST_PROTOCOL):
    return pickle.loads(pickle.dumps(value, protocol))


def tensor_of(array):
    """Return a tensor over an array's memory, also of types that DLPack exports refuse."""
    return tvm_ffi.convert_func(lambda x: x)(array)


ARRAYS = {
    "vector": np.arange(5, dtype=np.int32),
    "matrix": np.arange(6, dtype=np.float64).reshape(2, 3),
    "zero-dimensional": np.array(2.5, np.float32),
    "empty": np.zeros((0,), np.int8),
    "empty-inner": np.zeros((3, 0, 2), np.float32),
    "transposed": np.arange(6, dtype=np.int64).reshape(2, 3).T,
    "every-other": np.arange(20, dtype=np.uint8)[::2],
    "reversed": np.arange(4, dtype=np.float64)[::-1],
    "block": np.arange(24, dtype=np.int16).reshape(2, 3, 4)[:, 1:, ::3],
    "broadcast": np.broadcast_to(np.arange(3, dtype=np.int32), (2, 3)),
    "offset": np.arange(9, dtype=np.float32)[4:],
    "twelve-dimensional": np.arange(4, dtype=np.int8).reshape((1,) * 10 + (2, 2)),
    "bool": np.array([True, False, True]),
    "complex64": np.array([1 + 2j, -3.5j], np.complex64),
    "complex128-strided": np.arange(6, dtype=np.complex128).reshape(3, 2)[:, 1],
    "float16": np.array([1.5, np.inf, np.nan], np.float16),
    "bfloat16": np.array([1.5, -2.0, np.nan], ml_dtypes.bfloat16),
    "float8_e4m3fn": np.array([1.5, -2.0, 448.0], ml_dtypes.float8_e4m3fn),
    "float8_e5m2": np.array([0.25, np.inf], ml_dtypes.float8_e5m2),
    "uint64": np.array([2**64 - 1, 0], np.uint64),
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", ARRAYS)
def test_content_is_preserved_byte_for_byte(name, protocol):
    array = ARRAYS[name]
    made = round_trip(tensor_of(array), protocol)
    assert type(made) is Tensor
    assert made.shape == array.shape
    assert str(made.dtype) == array.dtype.name
    assert made.device == tvm_ffi.device("cpu")
    assert made.is_contiguous()
    assert made.numpy().tobytes() == array.tobytes()
    assert made.readonly == (not array.flags.writeable)


def test_strides_become_compact():
    made = round_trip(from_dlpack(np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1)))
    assert made.shape == (4, 2, 3)
    assert made.strides == (6, 3, 1)
    assert made.byte_offset == 0


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_unpickled_writable_tensors_can_be_written(protocol):
    array = np.zeros(3)
    made = round_trip(from_dlpack(array), protocol)
    made.numpy()[:] = 7
    assert made.numpy().tolist() == [7, 7, 7]
    assert array.tolist() == [0, 0, 0]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_read_only_tensors_stay_read_only(protocol):
    array = np.arange(3)
    array.flags.writeable = False
    made = round_trip(tensor_of(array), protocol)
    assert made.readonly
    with pytest.raises(ValueError, match="read-only"):
        made.numpy()[0] = 1


def test_buffers_can_be_passed_out_of_band():
    array = np.arange(1000.0)
    buffers = []
    text = pickle.dumps(from_dlpack(array), 5, buffer_callback=buffers.append)
    assert len(text) < 300
    (buffer,) = buffers
    # The pickle's buffer is the memory of the array: nothing was copied.
    assert np.frombuffer(buffer, np.float64).ctypes.data == array.ctypes.data
    received = bytearray(buffer)
    made = pickle.loads(text, buffers=[received])
    assert made.data_ptr() == np.frombuffer(received, np.uint8).ctypes.data
    assert made.numpy().tolist() == array.tolist()


def test_received_buffer_lives_as_long_as_the_tensor():
    buffers = []
    text = pickle.dumps(from_dlpack(np.arange(1000)), 5, buffer_callback=buffers.append)

    class Received(bytearray):
        pass

    received = Received(buffers[0])
    alive = weakref.ref(received)
    made = pickle.loads(text, buffers=[received])
    shown = made.numpy()
    del received, made
    gc.collect()
    assert alive() is not None
    assert shown[999] == 999
    del shown
    gc.collect()
    assert alive() is None


def test_exported_buffer_keeps_the_tensor_alive():
    buffers = []

    class Array(np.ndarray):
        pass

    array = np.arange(1000).view(Array)
    alive = weakref.ref(array)
    pickle.dumps(from_dlpack(array), 5, buffer_callback=buffers.append)
    del array
    gc.collect()
    assert np.frombuffer(buffers[0], np.int64)[999] == 999
    buffers.clear()
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize(
    "make", [bytes, lambda b: memoryview(b).toreadonly()], ids=["bytes", "view"]
)
def test_read_only_buffer_is_copied_for_a_writable_tensor(make):
    buffers = []
    text = pickle.dumps(from_dlpack(np.arange(8)), 5, buffer_callback=buffers.append)
    received = make(bytes(buffers[0]))
    made = pickle.loads(text, buffers=[received])
    made.numpy()[:] = 1
    assert np.frombuffer(received, np.int64).tolist() == [0, 1, 2, 3, 4, 5, 6, 7]


def test_buffer_that_is_not_aligned_is_copied():
    buffers = []
    text = pickle.dumps(from_dlpack(np.arange(8)), 5, buffer_callback=buffers.append)
    received = memoryview(bytearray(b"x" + bytes(buffers[0])))[1:]
    made = pickle.loads(text, buffers=[received])
    assert made.data_ptr() % 16 == 0
    assert made.numpy().tolist() == [0, 1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("size", [0, 63, 65])
def test_buffer_of_another_size_is_a_value_error(size):
    buffers = []
    text = pickle.dumps(from_dlpack(np.arange(8)), 5, buffer_callback=buffers.append)
    with pytest.raises(ValueError, match=f"expected 64 bytes for the shape .*, got {size} bytes"):
        pickle.loads(text, buffers=[bytearray(size)])


def test_absurd_extents_in_a_pickle_are_refused():
    rebuild = from_dlpack(np.arange(8)).__reduce_ex__(4)[0]
    for shape, dtype, error in [
        ((-1,), (0, 64, 1), ValueError),
        ((2**62, 2**62), (0, 64, 1), OverflowError),
        ((2**70,), (0, 64, 1), OverflowError),
        ((8,), (0, 640, 1), OverflowError),
        ((64,) + (1,) * 2000, (0, 8, 1), ValueError),
        (("8",), (0, 8, 1), TypeError),
    ]:
        with pytest.raises(error):
            rebuild(b"x" * 64, shape, dtype, False)
    assert rebuild(b"", (2**60, 0), (0, 64, 1), False).shape == (2**60, 0)


def test_a_large_tensor_costs_two_copies_at_most():
    """NumPy pickles arrays with one or two copies; a loop over elements would cost like forty."""
    array = np.zeros(1 << 20, np.uint8)
    tensor = from_dlpack(array)
    times = {"array": [], "tensor": []}
    for _ in range(20):
        for name, value in (("array", array), ("tensor", tensor)):
            start = time.process_time()
            round_trip(value)
            times[name].append(time.process_time() - start)
    assert min(times["tensor"]) < 8 * min(times["array"])


def test_tensors_of_fp4_pairs():
    tensor = from_dlpack(Source(dtype=(17, 4, 2), shape=(3,), strides=(1,)))
    made = round_trip(tensor)
    assert str(made.dtype) == "float4_e2m1fnx2"
    assert made.shape == (3,)


# ---- Copies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("use", [copy.copy, copy.deepcopy], ids=["copy", "deepcopy"])
def test_copies_have_separate_memory(use):
    array = np.arange(6).reshape(2, 3)
    made = use(from_dlpack(array.T))
    array[:] = 0
    assert made.numpy().tolist() == [[0, 3], [1, 4], [2, 5]]
    made.numpy()[:] = 1
    assert not array.any()


def test_copies_of_read_only_tensors_are_read_only():
    array = np.arange(3)
    array.flags.writeable = False
    assert copy.copy(tensor_of(array)).readonly


@pytest.mark.parametrize("use", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_copy_that_does_not_fit_memory_is_a_memory_error(use, capfd):
    """Regression: "SystemError: deallocated bytearray object has exported buffers" on stderr."""
    large = np.lib.stride_tricks.as_strided(np.zeros(1, "f4"), (1 << 29, 1 << 29), (0, 0))
    for _ in range(10):
        # The destructor read a count from memory that was not initialized: write to such memory.
        freed = [bytearray(b"x") for _ in range(100)]
        views = [memoryview(array) for array in freed]
        del views, freed
        with pytest.raises(MemoryError):
            use(from_dlpack(large))
    assert "bytearray" not in capfd.readouterr().err


# ---- Tensors that cannot be pickled --------------------------------------------------------------


@pytest.mark.parametrize("use", [pickle.dumps, copy.copy, copy.deepcopy])
def test_tensor_on_another_device_is_a_type_error(use):
    tensor = from_dlpack(Source(device=(2, 1)))
    with pytest.raises(TypeError, match="expected a tensor in CPU memory, got one on cuda:1"):
        use(tensor)


@pytest.mark.parametrize("use", [pickle.dumps, copy.copy])
def test_pickling_a_tensor_of_addresses_is_a_type_error(use):
    tensor = from_dlpack(Source(dtype=(3, 64, 1), shape=(3,), strides=(1,)))
    with pytest.raises(TypeError, match="their bytes are valid in this process only"):
        use(tensor)


def test_elements_that_share_a_byte_must_be_contiguous():
    with pytest.raises(TypeError, match="several elements share a byte"):
        pickle.dumps(from_dlpack(Source(dtype=(0, 4, 1), shape=(4,), strides=(2,))))


@pytest.mark.parametrize("use", [pickle.dumps, copy.copy, copy.deepcopy])
def test_empty_wrapper_is_a_value_error(use):
    with pytest.raises(ValueError, match="Tensor is empty"):
        use(Tensor())


def test_a_borrowed_tensor_is_pickled_by_copy(kernels):
    """The caller owns the memory, so the pickle must not refer to it."""
    array = np.arange(4.0)
    buffers = []
    texts = []

    def receive(borrowed):
        texts.append(pickle.dumps(borrowed, 5, buffer_callback=buffers.append))
        texts.append(pickle.dumps(borrowed, 4))

    kernels.call_with_borrowed(receive, array)
    array[:] = 0
    assert pickle.loads(texts[0], buffers=buffers).numpy().tolist() == [0, 1, 2, 3]
    assert pickle.loads(texts[1]).numpy().tolist() == [0, 1, 2, 3]
