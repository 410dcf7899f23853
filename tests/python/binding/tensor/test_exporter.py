# SPDX-License-Identifier: Apache-2.0
"""DLPack exporters without the exchange API: arguments of `__dlpack__`, and the stream of a call.

Fake GPU arrays are in CPU memory and record the arguments of `__dlpack__`, see `forged.Source`.
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


def export_arguments(kernels, array, *others):
    """Pass an array to a function that reads the stream of cuda:3; return the export arguments."""
    kernels.see_stream(False, *others, array)
    return array.arguments


class Stream:
    """A stream object like those of the Python packages for CUDA."""

    def __init__(self, address):
        self.address = address

    def __cuda_stream__(self):
        return 0, self.address


# ---- exporters whose current stream is unknown -----------------------------------------------


@pytest.mark.parametrize(
    ("device", "stream"),
    [(CUDA_3, 1), ((13, 0), 1), (ROCM_0, 0)],
    ids=["cuda", "cuda_managed", "rocm"],
)
def test_an_exporter_receives_the_default_stream(kernels, device, stream):
    assert export_arguments(kernels, Source(device=device)) == {
        "stream": stream,
        "max_version": VERSION,
    }
    assert kernels.seen_stream().value is None


@pytest.mark.parametrize("device", [(1, 0), (3, 0), (8, 0), (14, 0)], ids=str)
def test_an_exporter_on_a_device_without_streams_receives_none(kernels, device):
    assert export_arguments(kernels, Source(device=device)) == {"max_version": VERSION}


@pytest.mark.parametrize("stream", [0xBEF0, 1, 2], ids=["raw", "legacy", "per-thread"])
def test_an_exporter_receives_the_current_stream(kernels, stream):
    with tvm_ffi.use_raw_stream(cuda_3, stream):
        assert export_arguments(kernels, Source(device=CUDA_3))["stream"] == stream
        assert kernels.seen_stream().value == stream
        assert export_arguments(kernels, Source(device=(2, 1)))["stream"] == 1  # another device


def test_an_exporter_receives_the_stream_of_an_earlier_argument(kernels):
    framework = Framework(stream=0x5EED)
    first = framework.tensor_class(device=CUDA_3)
    assert export_arguments(kernels, Source(device=CUDA_3), first)["stream"] == 0x5EED
    assert export_arguments(kernels, Source(device=(2, 1)), first)["stream"] == 1
    assert kernels.seen_stream().value == 0x5EED


def test_an_exporter_in_a_list_receives_the_stream_of_an_earlier_argument(kernels):
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
def test_stored_arrays_are_exported_for_the_current_stream(fake_cupy, keep):
    for array in (Source(device=CUDA_3), fake_cupy.ndarray(device=CUDA_3)):
        with tvm_ffi.use_raw_stream(cuda_3, 0xBEF0):
            keep(array)
        assert array.arguments["stream"] == 0xBEF0


def test_exporters_without_max_version_receive_the_stream(kernels):
    class Old(Source):
        def __dlpack__(self, stream=None):
            return super().__dlpack__(stream=stream)

    array = Old(device=CUDA_3, version=None)
    with tvm_ffi.use_raw_stream(cuda_3, 0xBEF0):
        assert export_arguments(kernels, array) == {"stream": 0xBEF0}


def test_exporters_without_a_stream_argument_use_the_default_stream_only(kernels):
    class Oldest(Source):
        def __dlpack__(self):
            return super().__dlpack__()

    assert export_arguments(kernels, Oldest(device=CUDA_3, version=None)) == {}
    with (
        tvm_ffi.use_raw_stream(cuda_3, 0xBEF0),
        pytest.raises(TypeError, match=r"argument #1 when calling `see_stream`.*stream"),
    ):
        export_arguments(kernels, Oldest(device=CUDA_3, version=None))


@pytest.mark.parametrize("answer", [None, 1, (1,), ("cuda", 0), (1, 0, 0)], ids=repr)
def test_an_invalid_device_of_an_exporter_is_refused(echo, answer):
    class Broken(Source):
        def __dlpack_device__(self):
            return answer

    with pytest.raises(TypeError, match=r"Broken\.__dlpack_device__\(\) must return a tuple"):
        echo(Broken())


def test_a_device_without_an_index_must_be_the_cpu(echo):
    """Paddle returns None as the device index, for arrays and for `Place` objects."""

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
    """Install a fake `cupy` module (CuPy needs a GPU) with an array class and current streams."""
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
        assert export_arguments(kernels, array) == {"stream": 0xC0, "max_version": VERSION}
        assert kernels.seen_stream().value == 0xC0
        assert tvm_ffi.get_raw_stream(cuda_3) == 0xBEF0


def test_default_stream_of_the_framework(kernels, fake_cupy):
    fake_cupy.cuda.addresses[3] = 0
    with tvm_ffi.use_raw_stream(cuda_3, 0xBEF0):
        assert export_arguments(kernels, fake_cupy.ndarray(device=CUDA_3))["stream"] == 1
        assert kernels.seen_stream().value is None


def test_the_first_framework_determines_the_stream_of_the_call(kernels, fake_cupy):
    framework = Framework(stream=0x5EED)
    array = fake_cupy.ndarray(device=CUDA_3)
    assert (
        export_arguments(kernels, array, framework.tensor_class(device=CUDA_3))["stream"] == 0x5EED
    )
    assert kernels.seen_stream().value == 0x5EED
    kernels.see_stream(False, array, framework.tensor_class(device=CUDA_3))
    assert array.arguments["stream"] == 0xC0
    assert kernels.seen_stream().value == 0xC0


def test_an_array_in_a_list_determines_the_stream(kernels, fake_cupy):
    kernels.see_stream(False, [fake_cupy.ndarray(device=CUDA_3)])
    assert kernels.seen_stream().value == 0xC0


def test_a_subclass_of_an_array_class_determines_the_stream(kernels, fake_cupy):
    class Own(fake_cupy.ndarray):
        pass

    kernels.see_stream(False, Own(device=CUDA_3))
    assert kernels.seen_stream().value == 0xC0


def test_a_failing_stream_query_is_an_error(kernels, fake_cupy):
    def broken(device_id):
        raise OSError("no driver")

    fake_cupy.cuda.get_current_stream = broken
    with pytest.raises(OSError, match="no driver"):
        kernels.see_stream(False, fake_cupy.ndarray(device=CUDA_3))
    assert tvm_ffi.get_raw_stream(cuda_3) == 0


def test_a_prepared_call_reads_the_stream_at_each_call(kernels, fake_cupy):
    call = kernels.see_stream.prepare(False, fake_cupy.ndarray(device=CUDA_3))
    for address in (0xC0, 0xC4):
        fake_cupy.cuda.addresses[3] = address
        call()
        assert kernels.seen_stream().value == address


def test_a_prepared_call_queries_the_reported_stream_at_each_call(kernels):
    class Streaming(Source):
        stream = 0xA0

        def __tvm_ffi_env_stream__(self):
            return Stream(self.stream)

    call = kernels.see_stream.prepare(False, 1, Streaming(device=CUDA_3))
    for address in (0xA0, 0xA4):
        Streaming.stream = address
        call()
        assert kernels.seen_stream().value == address


# ---- from_dlpack with a stream ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("stream", "expected"),
    [(-1, -1), (1, 1), (2, 2), (0xBEF0, 0xBEF0), (Stream(0xC8), 0xC8)],
    ids=["no synchronization", "default", "per thread", "address", "object"],
)
def test_from_dlpack_passes_the_stream(stream, expected):
    source = Source(device=CUDA_3)
    tensor = tvm_ffi.from_dlpack(source, stream=stream)
    assert source.arguments == {"stream": expected, "max_version": VERSION}
    assert tensor.device == cuda_3


def test_from_dlpack_with_a_stream_checks_requirements():
    source = Source((3,), (2,), device=CUDA_3)
    with pytest.raises(RuntimeError, match="not contiguous"):
        tvm_ffi.from_dlpack(source, stream=-1, require_contiguous=True)
    assert source.deleted == 0


def test_from_dlpack_refuses_an_invalid_stream():
    with pytest.raises(TypeError, match="str"):
        tvm_ffi.from_dlpack(Source(device=CUDA_3), stream="default")
    framework = Framework()  # the object that owns the exchange API
    table = framework.tensor_class.__dlpack_c_exchange_api__
    only_table = type("OnlyTable", (), {"__dlpack_c_exchange_api__": table, "framework": framework})
    with pytest.raises(TypeError, match="expected an array with __dlpack__, got OnlyTable"):
        tvm_ffi.from_dlpack(only_table(), stream=1)


def test_stream_objects_are_made_current():
    with tvm_ffi.use_raw_stream(cuda_3, Stream(0xC8)):
        assert tvm_ffi.get_raw_stream(cuda_3) == 0xC8


# ---- immutable arrays ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("tensorflow.python.framework.ops", "_EagerTensorBase"),
        ("pyarrow.lib", "Array"),
        ("jaxlib._jax", "ArrayImpl"),
        ("jaxlib.xla_extension", "ArrayImpl"),
    ],
    ids=["TensorFlow", "Arrow", "JAX", "JAX-before-0.6"],
)
@pytest.mark.breaks_rules
def test_arrays_of_immutable_classes_are_read_only(kernels, module, name):
    """The capsules of these immutable arrays lack the read-only flag."""

    class Dtype:
        name = "float32"
        is_numpy_compatible = is_floating = True
        is_quantized = False

    cls = type(name, (Source,), {"__module__": module, "dtype": Dtype})
    assert kernels.echo(cls()).shape == (3, 4)
    assert kernels.echo(cls()).readonly
    assert tvm_ffi.from_dlpack(cls()).readonly
    if "tensorflow" in module:  # the array's `__dlpack__` refuses a stream
        assert export_arguments(kernels, cls(device=CUDA_3)) == {"max_version": VERSION}
    assert len(kernels.reading(cls(), np.zeros(1), cls())) == 3
    with pytest.raises(BufferError, match="argument 'y' .*read-only, and the function writes"):
        kernels.reading(np.zeros(1), cls(), np.zeros(1))


@pytest.mark.parametrize("kind", ["string", "resource", "variant", "qint8"])
def test_tensorflow_dtypes_whose_export_aborts_are_refused(kernels, kind):
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
