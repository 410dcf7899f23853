# SPDX-License-Identifier: Apache-2.0
"""Arrays with only ``__cuda_array_interface__``, as in Numba; the tests use host memory."""

from __future__ import annotations

import ctypes
import gc
import sys
import weakref

import numpy as np
import pytest
from forged import Framework, Source

import tvm_ffi
from tvm_ffi._binding.tensor import cuda_array_interface

cuda_0 = tvm_ffi.device("cuda", 0)
cuda_3 = tvm_ffi.device("cuda", 3)


class DeviceArray:
    """A fake device array: a NumPy array with the interface of Numba's device arrays."""

    def __init__(self, array, **changes):
        self.array = array
        self.changes = changes

    @property
    def __cuda_array_interface__(self):
        return {
            "shape": self.array.shape,
            "strides": None if self.array.flags.c_contiguous else self.array.strides,
            "data": (self.array.ctypes.data, False),
            "typestr": self.array.dtype.str,
            "stream": None,
            "version": 3,
            **self.changes,
        }


class Driver:
    """A fake CUDA driver that records calls and reports all memory as memory of device 3."""

    def __init__(self, status=0):
        self.status = status
        self.waited = []

    def cuPointerGetAttribute(self, out, attribute, address):  # noqa: N802  (the driver's name)
        assert attribute == 9
        ctypes.cast(out, ctypes.POINTER(ctypes.c_int))[0] = 3
        return self.status

    def cuStreamSynchronize(self, stream):  # noqa: N802
        self.waited.append(stream.value)
        return self.status


@pytest.fixture
def driver(monkeypatch):
    """Replace the machine's CUDA driver with a fake driver, and return the fake."""
    made = Driver()
    monkeypatch.setattr(cuda_array_interface, "_driver", lambda: made)
    return made


@pytest.fixture
def no_driver(monkeypatch):
    monkeypatch.setattr(cuda_array_interface, "_driver", lambda: None)


# ---- accepted arrays -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "array",
    [np.zeros((2, 3)), np.zeros((4, 6))[::2, ::-3], np.ones((), np.float32), np.zeros((0, 3))],
    ids=["compact", "strided", "scalar", "empty"],
)
def test_the_tensor_has_the_layout_of_the_array(echo, driver, array):
    tensor = echo(DeviceArray(array))
    steps = tuple(step // array.itemsize for step in array.strides)
    assert (tensor.shape, str(tensor.dtype)) == (array.shape, array.dtype.name)
    assert tensor.data_ptr() == array.ctypes.data
    assert (tensor.device, tensor.readonly) == (cuda_3, False)
    if array.size:
        assert tensor.strides == steps


@pytest.mark.parametrize("name", ["bool", "int8", "int64", "uint16", "float16", "complex128"])
def test_element_types_arrive(echo, driver, name):
    assert str(echo(DeviceArray(np.zeros(3, name))).dtype) == name


def test_convert_makes_a_tensor(driver):
    array = np.zeros(3)
    tensor = tvm_ffi.convert(DeviceArray(array))
    assert tensor.data_ptr() == array.ctypes.data
    assert tensor.device == cuda_3


def test_array_lives_as_long_as_the_tensor(echo, driver):
    source = DeviceArray(np.zeros(3))
    alive = weakref.ref(source)
    tensor = echo(source)
    del source
    gc.collect()
    assert alive() is not None
    del tensor
    gc.collect()
    assert alive() is None


def test_array_is_not_kept_after_the_call(kernels, driver):
    source = DeviceArray(np.zeros(3))
    before = sys.getrefcount(source)
    kernels.count(source, source)
    assert sys.getrefcount(source) == before


def test_without_a_driver_the_device_is_cuda_0(echo, no_driver):
    assert echo(DeviceArray(np.zeros(3))).device == cuda_0


def test_from_dlpack_refuses_arrays_without_dlpack(driver):
    with pytest.raises(TypeError, match="compatible tensor or PyCapsule"):
        tvm_ffi.from_dlpack(DeviceArray(np.zeros(3)))


def test_a_read_only_array_is_accepted_by_read_only_parameters(kernels, driver):
    source = DeviceArray(np.zeros(3), data=(4096, True))
    with pytest.raises(BufferError, match="the array is read-only; it is unknown whether"):
        kernels.count(source)
    assert len(kernels.reading(source, np.zeros(1), np.zeros(1))) == 3


# ---- streams ---------------------------------------------------------------------------------


def test_call_runs_on_the_stream_of_the_array(kernels, driver):
    with tvm_ffi.use_raw_stream(cuda_3, 0xBEF0):
        kernels.see_stream(False, DeviceArray(np.zeros(3), stream=0xA0))
        assert kernels.seen_stream().value == 0xA0
        assert tvm_ffi.get_raw_stream(cuda_3) == 0xBEF0
        kernels.see_stream(
            False, DeviceArray(np.zeros(3))
        )  # no stream: the values are ready already
        assert kernels.seen_stream().value == 0xBEF0
    assert driver.waited == []


def test_the_stream_is_synchronized_if_an_earlier_argument_decides(kernels, driver):
    first = Framework(stream=0x5EED).tensor_class(device=(2, 3))
    kernels.see_stream(False, first, DeviceArray(np.zeros(3), stream=0xA0))
    assert kernels.seen_stream().value == 0x5EED
    assert driver.waited == [0xA0]
    kernels.see_stream(False, first, DeviceArray(np.zeros(3), stream=0x5EED))
    assert driver.waited == [0xA0]


def test_the_stream_is_synchronized_for_containers(driver):
    tvm_ffi.Array([DeviceArray(np.zeros(3), stream=2)])
    assert driver.waited == [2]


def test_a_later_exporter_receives_the_stream_of_the_array(kernels, driver):
    exporter = Source(device=(2, 3))
    kernels.see_stream(False, DeviceArray(np.zeros(3), stream=0xA0), exporter)
    assert exporter.arguments["stream"] == 0xA0


def test_a_stream_that_cannot_be_synchronized_is_an_error(driver, monkeypatch):
    driver.status = 700
    with pytest.raises(RuntimeError, match="cannot synchronize the stream 0xa0 .* CUDA error 700"):
        tvm_ffi.Array([DeviceArray(np.zeros(3), stream=0xA0)])
    monkeypatch.setattr(cuda_array_interface, "_driver", lambda: None)
    with pytest.raises(RuntimeError, match="there is no CUDA driver"):
        tvm_ffi.Array([DeviceArray(np.zeros(3), stream=0xA0)])


# ---- interfaces of single values ---------------------------------------------------------------


class Holder:
    """A class without the interface; values may get it as their own attribute."""


def holder(array):
    made = Holder()
    made.__cuda_array_interface__ = DeviceArray(array).__cuda_array_interface__
    return made


def test_an_interface_that_only_the_value_has_makes_a_tensor(no_driver):
    """Rules are chosen by class: the class of a value with its own interface looks opaque."""
    array = np.arange(4.0)
    for tensor in (tvm_ffi.Array([holder(array)])[0], tvm_ffi.convert(holder(array))):
        assert tensor.data_ptr() == array.ctypes.data
        assert tensor.shape == (4,)
    plain = Holder()
    assert tvm_ffi.Array([plain])[0] is plain  # of the same class, without the attribute
    plain.__cuda_array_interface__ = {"shape": (1,)}
    with pytest.raises(TypeError, match="__cuda_array_interface__ has no entry 'data'"):
        tvm_ffi.Array([plain])


def test_the_look_at_a_value_does_not_call_getattr():
    asked = []

    class Proxy:
        def __getattr__(self, name):
            asked.append(name)
            raise KeyError(name)

    proxy = Proxy()
    assert tvm_ffi.Array([proxy])[0] is proxy
    assert asked == []


# ---- refused interfaces ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        ({"typestr": "|V8"}, TypeError, "DLPack has no dtype for typestr '|V8'"),
        ({"typestr": ">f8"}, TypeError, "native byte order, got typestr '>f8'"),
        ({"typestr": "<f32"}, TypeError, "DLPack has no dtype for typestr '<f32'"),
        ({"mask": DeviceArray(np.zeros(3))}, TypeError, "expected no mask, got a masked array"),
        ({"strides": (12,)}, ValueError, r"strides\[0\] must be a multiple .* 8 bytes, got 12"),
        ({"strides": (8, 8)}, ValueError, r"expected 1 strides for shape \(3,\), got \(8, 8\)"),
        ({"shape": (-1,)}, ValueError, r"shape\[0\]"),
        ({"shape": (2**70,)}, OverflowError, "int"),
        ({"data": (-1, False)}, OverflowError, "negative"),
        ({"data": (0, False)}, ValueError, "data"),
        ({"stream": -1}, OverflowError, "negative"),
        ({"stream": "default"}, TypeError, "int"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_invalid_interfaces_are_refused(kernels, driver, changes, error, text):
    with pytest.raises(error, match=text):
        kernels.count(DeviceArray(np.zeros(3), **changes))
    assert kernels.count(DeviceArray(np.zeros(3))) == 1


@pytest.mark.parametrize("interface", [None, 7, {}, {"data": (8, False)}], ids=repr)
def test_interfaces_without_required_entries_are_refused(kernels, driver, interface):
    broken = type("Broken", (), {"__cuda_array_interface__": interface})()
    with pytest.raises(TypeError, match="argument #0 when calling `count`.*__cuda_array_interface"):
        kernels.count(broken)
