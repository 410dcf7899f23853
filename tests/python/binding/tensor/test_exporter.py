# SPDX-License-Identifier: Apache-2.0
"""Exporters without an exchange table: what they are asked, and whose stream a call runs on.

Stand-ins for GPU arrays lie in CPU memory and record what they are asked, see `forged.Source`.
"""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest
from forged import Framework, Source

import tvm_ffi

CUDA_3 = (2, 3)
ROCM_0 = (10, 0)
VERSION = (1, 3)
cuda_3 = tvm_ffi.device("cuda", 3)


def asked(kernels, array, *others):
    """Pass an array to a function that looks at the stream of cuda:3, and return the question."""
    kernels.see_stream(False, *others, array)
    return array.arguments


class Stream:
    """A stream as CUDA's Python packages have it."""

    def __init__(self, address):
        self.address = address

    def __cuda_stream__(self):
        return 0, self.address


# ---- whose current stream nobody knows -------------------------------------------------------


@pytest.mark.parametrize(
    ("device", "stream"),
    [(CUDA_3, 1), ((13, 0), 1), (ROCM_0, 0)],
    ids=["cuda", "cuda_managed", "rocm"],
)
def test_exporter_is_told_the_default_stream(kernels, device, stream):
    assert asked(kernels, Source(device=device)) == {"stream": stream, "max_version": VERSION}
    assert kernels.seen_stream().value is None


@pytest.mark.parametrize("device", [(1, 0), (3, 0), (8, 0), (14, 0)], ids=str)
def test_exporter_is_told_no_stream_where_there_is_none(kernels, device):
    assert asked(kernels, Source(device=device)) == {"max_version": VERSION}


@pytest.mark.parametrize("stream", [0xBEF0, 1, 2], ids=["raw", "legacy", "per-thread"])
def test_exporter_is_told_the_current_stream(kernels, stream):
    with tvm_ffi.use_raw_stream(cuda_3, stream):
        assert asked(kernels, Source(device=CUDA_3))["stream"] == stream
        assert kernels.seen_stream().value == stream
        assert asked(kernels, Source(device=(2, 1)))["stream"] == 1  # another device


def test_exporter_is_told_the_stream_that_an_earlier_argument_decided(kernels):
    framework = Framework(stream=0x5EED)
    first = framework.tensor_class(device=CUDA_3)
    assert asked(kernels, Source(device=CUDA_3), first)["stream"] == 0x5EED
    assert asked(kernels, Source(device=(2, 1)), first)["stream"] == 1
    assert kernels.seen_stream().value == 0x5EED


def test_exporter_in_a_list_is_told_the_same(kernels):
    array = Source(device=CUDA_3)
    kernels.see_stream(False, Framework(stream=0x5EED).tensor_class(device=CUDA_3), [[array]])
    assert array.arguments["stream"] == 0x5EED


@pytest.mark.parametrize(
    "keep",
    [
        tvm_ffi.from_dlpack,
        lambda array: tvm_ffi.Array([array]),
        lambda array: tvm_ffi.convert_func(lambda: array)(),
    ],
    ids=["from_dlpack", "Array", "result of a callback"],
)
def test_values_that_are_kept_are_ready_on_the_current_stream(fake_cupy, keep):
    for array in (Source(device=CUDA_3), fake_cupy.ndarray(device=CUDA_3)):
        with tvm_ffi.use_raw_stream(cuda_3, 0xBEF0):
            keep(array)
        assert array.arguments["stream"] == 0xBEF0


def test_exporters_of_before_the_version_are_told_the_stream(kernels):
    class Old(Source):
        def __dlpack__(self, stream=None):
            return super().__dlpack__(stream=stream)

    array = Old(device=CUDA_3, version=None)
    with tvm_ffi.use_raw_stream(cuda_3, 0xBEF0):
        assert asked(kernels, array) == {"stream": 0xBEF0}


def test_exporters_that_cannot_be_told_have_the_default_stream_only(kernels):
    class Oldest(Source):
        def __dlpack__(self):
            return super().__dlpack__()

    assert asked(kernels, Oldest(device=CUDA_3, version=None)) == {}
    with (
        tvm_ffi.use_raw_stream(cuda_3, 0xBEF0),
        pytest.raises(TypeError, match=r"argument #1 when calling `see_stream`.*stream"),
    ):
        asked(kernels, Oldest(device=CUDA_3, version=None))


@pytest.mark.parametrize("answer", [None, 1, (1,), ("cuda", 0), (1, 0, 0)], ids=repr)
def test_exporter_that_says_no_device(echo, answer):
    class Broken(Source):
        def __dlpack_device__(self):
            return answer

    with pytest.raises(TypeError, match=r"Broken\.__dlpack_device__\(\) must return a tuple"):
        echo(Broken())


def test_only_cpu_without_an_index(echo):
    """Paddle says so of arrays and of places."""

    class Paddle(Source):
        def __dlpack_device__(self):
            return 1, None

    class Place:
        def __dlpack_device__(self):
            return 1, None

    assert echo(Paddle()).device == tvm_ffi.device("cpu", 0)
    assert echo(Place()) == tvm_ffi.device("cpu", 0)


# ---- CuPy, whose current stream is known -----------------------------------------------------


@pytest.fixture
def fake_cupy(monkeypatch):
    """Stand for CuPy, as it needs a GPU: its array class, and its current streams."""
    cupy, cuda = ModuleType("cupy"), ModuleType("cupy.cuda")
    cupy.ndarray = type("ndarray", (Source,), {"__module__": "cupy"})
    cupy.cuda = cuda
    cuda.addresses = {3: 0xC0, 1: 0}
    cuda.get_current_stream = lambda device_id=-1: Stream(cuda.addresses[device_id])
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setitem(sys.modules, "cupy.cuda", cuda)
    return cupy


def test_call_runs_on_the_current_stream_of_the_framework(kernels, fake_cupy):
    with tvm_ffi.use_raw_stream(cuda_3, 0xBEF0):
        array = fake_cupy.ndarray(device=CUDA_3)
        assert asked(kernels, array) == {"stream": 0xC0, "max_version": VERSION}
        assert kernels.seen_stream().value == 0xC0
        assert tvm_ffi.get_raw_stream(cuda_3) == 0xBEF0


def test_default_stream_of_the_framework(kernels, fake_cupy):
    fake_cupy.cuda.addresses[3] = 0
    with tvm_ffi.use_raw_stream(cuda_3, 0xBEF0):
        assert asked(kernels, fake_cupy.ndarray(device=CUDA_3))["stream"] == 1
        assert kernels.seen_stream().value is None


def test_first_framework_decides_and_the_second_gets_ready_for_it(kernels, fake_cupy):
    framework = Framework(stream=0x5EED)
    array = fake_cupy.ndarray(device=CUDA_3)
    assert asked(kernels, array, framework.tensor_class(device=CUDA_3))["stream"] == 0x5EED
    assert kernels.seen_stream().value == 0x5EED
    kernels.see_stream(False, array, framework.tensor_class(device=CUDA_3))
    assert array.arguments["stream"] == 0xC0
    assert kernels.seen_stream().value == 0xC0


def test_array_in_a_list_decides_too(kernels, fake_cupy):
    kernels.see_stream(False, [fake_cupy.ndarray(device=CUDA_3)])
    assert kernels.seen_stream().value == 0xC0


def test_subclass_of_an_array_class_decides_too(kernels, fake_cupy):
    class Own(fake_cupy.ndarray):
        pass

    kernels.see_stream(False, Own(device=CUDA_3))
    assert kernels.seen_stream().value == 0xC0


def test_framework_that_cannot_say_its_stream(kernels, fake_cupy):
    def broken(device_id):
        raise OSError("no driver")

    fake_cupy.cuda.get_current_stream = broken
    with pytest.raises(OSError, match="no driver"):
        kernels.see_stream(False, fake_cupy.ndarray(device=CUDA_3))
    assert tvm_ffi.get_raw_stream(cuda_3) == 0


def test_bound_call_runs_on_the_stream_of_then(kernels, fake_cupy):
    call = kernels.see_stream.bind(False, fake_cupy.ndarray(device=CUDA_3))
    for address in (0xC0, 0xC4):
        fake_cupy.cuda.addresses[3] = address
        call()
        assert kernels.seen_stream().value == address


def test_bound_call_asks_the_class_that_says_its_stream(kernels):
    class Streaming(Source):
        stream = 0xA0

        def __tvm_ffi_env_stream__(self):
            return Stream(self.stream)

    call = kernels.see_stream.bind(False, 1, Streaming(device=CUDA_3))
    for address in (0xA0, 0xA4):
        Streaming.stream = address
        call()
        assert kernels.seen_stream().value == address


# ---- from_dlpack with a stream ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("stream", "told"),
    [(-1, -1), (1, 1), (2, 2), (0xBEF0, 0xBEF0), (Stream(0xC8), 0xC8)],
    ids=["no synchronization", "default", "per thread", "address", "object"],
)
def test_from_dlpack_asks_for_a_stream(stream, told):
    source = Source(device=CUDA_3)
    tensor = tvm_ffi.from_dlpack(source, stream=stream)
    assert source.arguments == {"stream": told, "max_version": VERSION}
    assert tensor.device == cuda_3


def test_from_dlpack_with_a_stream_has_requirements_too():
    source = Source((3,), (2,), device=CUDA_3)
    with pytest.raises(RuntimeError, match="not contiguous"):
        tvm_ffi.from_dlpack(source, stream=-1, require_contiguous=True)
    assert source.deleted == 0


def test_from_dlpack_with_something_that_is_no_stream():
    with pytest.raises(TypeError, match="str"):
        tvm_ffi.from_dlpack(Source(device=CUDA_3), stream="default")
    table = Framework().tensor_class.__dlpack_c_exchange_api__
    only_table = type("OnlyTable", (), {"__dlpack_c_exchange_api__": table})
    with pytest.raises(TypeError, match="expected an array with __dlpack__, got OnlyTable"):
        tvm_ffi.from_dlpack(only_table(), stream=1)


def test_stream_objects_are_made_current():
    with tvm_ffi.use_raw_stream(cuda_3, Stream(0xC8)):
        assert tvm_ffi.get_raw_stream(cuda_3) == 0xC8


# ---- arrays that cannot change ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "name"),
    [("tensorflow.python.framework.ops", "_EagerTensorBase"), ("pyarrow.lib", "Array")],
    ids=["TensorFlow", "Arrow"],
)
def test_arrays_of_a_class_that_never_change(kernels, module, name):
    """Their capsules do not say so."""

    class Dtype:
        name = "float32"
        is_numpy_compatible = is_floating = True
        is_quantized = False

    cls = type(name, (Source,), {"__module__": module, "dtype": Dtype})
    assert kernels.echo(cls()).shape == (3, 4)
    if "tensorflow" in module:  # which refuses to be told a stream
        assert asked(kernels, cls(device=CUDA_3)) == {"max_version": VERSION}
    assert len(kernels.reading(cls(), np.zeros(1), cls())) == 3
    with pytest.raises(BufferError, match="argument 'y' .*read-only, and the function writes"):
        kernels.reading(np.zeros(1), cls(), np.zeros(1))


@pytest.mark.parametrize("kind", ["string", "resource", "variant", "qint8"])
def test_tensorflow_is_not_asked_for_what_ends_the_process(kernels, kind):
    class Dtype:
        name = kind
        is_numpy_compatible = kind == "string"
        is_floating = is_integer = is_complex = is_bool = False
        is_quantized = kind == "qint8"

    class EagerTensor(Source):
        __module__ = "tensorflow.python.framework.ops"
        __qualname__ = "_EagerTensorBase"
        dtype = Dtype

    EagerTensor.__name__ = "_EagerTensorBase"
    tensor = EagerTensor()
    with pytest.raises(TypeError, match=f"TensorFlow tensors of dtype {kind} have no DLPack form"):
        kernels.count(tensor)
    assert tensor.arguments is None


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.ma.masked_array([1.0, 2.0], [False, True]),
        lambda: np.ma.zeros(3),
        lambda: np.ma.masked,
    ],
    ids=["masked", "nothing masked", "masked scalar"],
)
def test_masked_arrays_are_refused(echo, make):
    text = r"expected an array without a mask, got a masked array; pass array\.filled\(value\), or"
    with pytest.raises(TypeError, match=rf"argument #0 when calling `echo`: .*{text}"):
        echo(make())
    with pytest.raises(TypeError, match=text):
        tvm_ffi.from_dlpack(make())
    assert echo(np.ma.zeros(3).filled(0)).shape == (3,)
    assert echo(np.ma.zeros(3).data).shape == (3,)
