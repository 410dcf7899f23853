# SPDX-License-Identifier: Apache-2.0
"""The native handlers of the custom call, called through a fake XLA function table.

The fake table makes it possible to test streams, devices, device memory and metadata without a GPU.
"""

from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, POINTER, byref, c_int32, c_int64, c_size_t, c_void_p, cast, pointer

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi._binding.values import get_current_stream
from tvm_ffi.interop._xla import structs as xla
from tvm_ffi.libinfo import load_lib_ctypes

STREAM, ORDINAL, CONTEXT = 0x5EED, 3, 0xC0DE
COMMAND_BUFFER = 1
CUDA, ROCM = 2, 10  # DLPack device types
DTYPES = {np.dtype(np.float32): 11, np.dtype(np.int32): 4, np.dtype(np.int64): 5}


class StreamGetArguments(ctypes.Structure):
    _fields_ = xla._sized(("ctx", c_void_p), ("stream", c_void_p))


class OrdinalGetArguments(ctypes.Structure):
    _fields_ = xla._sized(("ctx", c_void_p), ("device_ordinal", c_int32))


class AllocateArguments(ctypes.Structure):
    _fields_ = xla._sized(
        ("ctx", c_void_p), ("size", c_size_t), ("alignment", c_size_t), ("data", c_void_p)
    )


class FreeArguments(ctypes.Structure):
    _fields_ = xla._sized(("ctx", c_void_p), ("size", c_size_t), ("data", c_void_p))


StreamGet = CFUNCTYPE(c_void_p, POINTER(StreamGetArguments))
OrdinalGet = CFUNCTYPE(c_void_p, POINTER(OrdinalGetArguments))
ErrorDestroy = CFUNCTYPE(None, c_void_p)
Allocate = CFUNCTYPE(c_void_p, POINTER(AllocateArguments))
Free = CFUNCTYPE(c_void_p, POINTER(FreeArguments))


class Api(xla.Api):
    """XLA's function table, with the entries that a GPU handler calls."""

    _fields_ = [  # noqa: RUF012
        ("error_get_message", c_void_p),
        ("error_destroy", ErrorDestroy),
        ("handler_register", c_void_p),
        ("stream_get", StreamGet),
        ("types_and_states", c_void_p * 4),
        ("device_memory_allocate", Allocate),
        ("device_memory_free", Free),
        ("threads_and_futures", c_void_p * 6),
        ("device_ordinal_get", OrdinalGet),
    ]


class Runtime:
    """A fake XLA that records errors and memory."""

    def __init__(self, version=(0, 3)):
        self.errors = []
        self.stream_error = None
        self.memory = {}  # size and buffer of allocated memory by address
        self.freed = []
        self.has_memory = True
        self.table = Api(struct_size=ctypes.sizeof(Api))
        self.table.api_version.major_version, self.table.api_version.minor_version = version
        self.table.error_create = type(xla.Api().error_create)(self._new_error)
        self.table.stream_get = StreamGet(self._get_stream)
        self.table.device_ordinal_get = OrdinalGet(self._get_ordinal)

        self.table.error_destroy = ErrorDestroy(lambda arguments: None)
        self.table.device_memory_allocate = Allocate(self._allocate)
        self.table.device_memory_free = Free(self._free)

    def _allocate(self, arguments):
        assert (arguments.contents.ctx, arguments.contents.alignment) == (CONTEXT, 16)
        if not self.has_memory:
            return 1
        buffer = ctypes.create_string_buffer(arguments.contents.size)
        arguments.contents.data = ctypes.addressof(buffer)
        self.memory[arguments.contents.data] = (arguments.contents.size, buffer)
        return None

    def _free(self, arguments):
        assert arguments.contents.ctx == CONTEXT
        size, _ = self.memory.pop(arguments.contents.data)
        assert size == arguments.contents.size
        self.freed.append(size)

    def _new_error(self, arguments):
        self.errors.append((arguments.contents.code, arguments.contents.message.decode()))
        return len(self.errors)

    def _get_stream(self, arguments):
        assert arguments.contents.ctx == CONTEXT
        arguments.contents.stream = STREAM
        return self.stream_error

    def _get_ordinal(self, arguments):
        assert arguments.contents.ctx == CONTEXT
        arguments.contents.device_ordinal = ORDINAL

    def frame(self, args=(), rets=(), attributes=None):
        """Return the frame of a call; its attribute ``owners`` owns the memory it points to."""
        owners = [self]
        frame = xla.CallFrame(struct_size=ctypes.sizeof(xla.CallFrame), ctx=CONTEXT)
        frame.api = cast(pointer(self.table), POINTER(xla.Api))
        for buffers, arrays in ((frame.args, args), (frame.rets, rets)):
            _set_buffers(buffers, arrays, owners)
        _set_attributes(frame.attrs, attributes or {}, owners)
        frame.owners = owners
        return frame

    def metadata(self, handler, api=True):
        """Return the version and traits that a handler reports."""
        metadata = xla.Metadata(struct_size=ctypes.sizeof(xla.Metadata))
        request = xla.MetadataExtension(metadata=pointer(metadata))
        request.base.type = 1
        frame = self.frame()
        frame.extension_start = ctypes.addressof(request)
        if not api:
            frame.api = None
        assert handler(byref(frame)) is None
        version = metadata.api_version.major_version, metadata.api_version.minor_version
        return version, metadata.traits


def _set_buffers(buffers, arrays, owners):
    structs = [
        xla.Buffer(
            dtype=DTYPES.get(array.dtype, 17),  # 17: token
            data=array.ctypes.data,
            rank=array.ndim,
            dims=(c_int64 * array.ndim)(*array.shape),
        )
        for array in arrays
    ]
    buffers.size = len(structs)
    buffers.types = (c_int32 * len(structs))(*[1] * len(structs))
    buffers.values = (POINTER(xla.Buffer) * len(structs))(*map(pointer, structs))
    owners += [structs, *arrays]


def _set_attributes(attributes, values, owners):
    names, types, addresses = [], [], []
    for name in sorted(values):
        names.append(_span(name, owners))
        value = values[name]
        if isinstance(value, str):
            types.append(4)
            encoded = _span(value, owners)
        elif isinstance(value, np.ndarray):
            types.append(1)
            encoded = xla.Array(DTYPES[value.dtype], value.size, value.ctypes.data)
        else:
            types.append(3)
            number = np.int64(value).reshape(1)
            owners.append(number)
            encoded = xla.Scalar(5, number.ctypes.data)
        owners += [encoded, value]
        addresses.append(ctypes.addressof(encoded))
    attributes.size = len(names)
    attributes.types = (c_int32 * len(types))(*types)
    attributes.names = (POINTER(xla.ByteSpan) * len(names))(*map(pointer, names))
    attributes.values = (c_void_p * len(addresses))(*addresses)


def _span(text, owners):
    data = ctypes.create_string_buffer(text.encode())
    owners.append(data)
    return xla.ByteSpan(ctypes.addressof(data), len(text.encode()))


def argument_codes(*codes, num_attributes=2):
    return np.array([num_attributes, 0, *codes], np.int32)


@pytest.fixture(scope="module")
def library():
    loaded = load_lib_ctypes("pytvmffi", "tvm_ffi_xla", "RTLD_LOCAL")

    def handler(name):
        return xla.Handler((f"TVMFFIXla{name}", loaded))

    return handler


@pytest.fixture
def function():
    """Return a function that registers an implementation until the end of the test."""
    names = []

    def register(implementation, name="tests.xla.function"):
        tvm_ffi.register_global_func(name, implementation)
        names.append(name)
        return name

    yield register
    for name in names:
        tvm_ffi.remove_global_func(name)


# ---- metadata of handlers -----------------------------------------------------------------------


@pytest.mark.parametrize("version", [(0, 1), (0, 3), (0, 4), (0, 99), (1, 0)], ids=str)
def test_handler_reports_the_version_of_xla(library, version):
    """XLA disables a backend if a handler reports a version that XLA does not support."""
    assert Runtime(version).metadata(library("CallCpu")) == (version, 0)


def test_handler_without_a_function_table_reports_the_oldest_version(library):
    assert Runtime().metadata(library("CallCpu"), api=False) == ((0, 1), 0)


@pytest.mark.parametrize(
    ("name", "traits"),
    [("CallCuda", 0), ("CallRocm", 0), ("CaptureCuda", 1), ("CaptureRocm", 1), ("CallCpu", 0)],
)
def test_only_capture_handlers_are_command_buffer_compatible(library, name, traits):
    assert Runtime().metadata(library(name))[1] == traits * COMMAND_BUFFER


def test_call_by_another_major_version_is_rejected(library):
    runtime = Runtime((1, 0))
    assert library("CallCpu")(byref(runtime.frame())) == 1
    assert runtime.errors == [(12, "call_tvm_ffi: unknown version of XLA's interface")]


# ---- calls on a device --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "device_type"),
    [("CallCuda", CUDA), ("CaptureCuda", CUDA), ("CallRocm", ROCM), ("CaptureRocm", ROCM)],
)
def test_device_call_has_the_stream_and_tensors_of_xla(library, function, name, device_type):
    seen = []

    def look(x, y, n):
        seen.append((x.__dlpack_device__(), y.shape, n))
        seen.append(get_current_stream(device_type, ORDINAL))

    runtime = Runtime()
    frame = runtime.frame(
        [np.zeros((2, 3), np.float32)],
        [np.zeros(4, np.int32)],
        {
            "__function": function(look),
            "__arguments": argument_codes(0, 1, 16 * 2 + 2, num_attributes=3),
            "n": 7,
        },
    )
    assert library(name)(byref(frame)) is None
    assert runtime.errors == []
    assert seen == [((device_type, ORDINAL), (4,), 7), STREAM]
    assert get_current_stream(device_type, ORDINAL) == 0


def test_device_is_0_if_xla_does_not_report_the_ordinal(library, function):
    seen = []
    runtime = Runtime()
    runtime.table.struct_size = Api.device_ordinal_get.offset
    frame = runtime.frame(
        [np.zeros(2, np.float32)],
        attributes={
            "__function": function(lambda x: seen.append(x.__dlpack_device__())),
            "__arguments": argument_codes(0),
        },
    )
    assert library("CallCuda")(byref(frame)) is None
    assert seen == [(CUDA, 0)]


def test_error_of_xla_for_the_stream_is_the_error_of_the_call(library, function):
    runtime = Runtime()
    runtime.stream_error = 77
    frame = runtime.frame(
        attributes={"__function": function(lambda: None), "__arguments": argument_codes()}
    )
    assert library("CallCuda")(byref(frame)) == 77


@pytest.fixture
def allocating(kernels, function):
    """Return a function that registers a callback which allocates a tensor and passes it to `see`.

    The tensor has the shape and device of `like`, or of the callback's argument.
    """

    def register(see, like=None):
        return function(lambda x: see(kernels.new_like(x if like is None else like)))

    return register


def device_frame(runtime, name):
    return runtime.frame(
        [np.zeros((2, 3), np.float32)],
        attributes={"__function": name, "__arguments": argument_codes(0)},
    )


def test_tensors_that_a_function_allocates_are_in_memory_of_xla(library, allocating):
    seen = []
    runtime = Runtime()

    def see(tensor):
        seen.append((tensor.__dlpack_device__(), tensor.shape, tensor.strides))
        assert list(runtime.memory) == [tensor.data_ptr()]

    frame = device_frame(runtime, allocating(see))
    assert library("CallCuda")(byref(frame)) is None, runtime.errors
    assert seen == [((CUDA, ORDINAL), (2, 3), (3, 1))]
    assert (runtime.memory, runtime.freed) == ({}, [24])


def test_tensors_on_other_devices_come_from_the_default_allocator(library, allocating):
    seen = []
    runtime = Runtime()
    frame = device_frame(runtime, allocating(lambda t: seen.append(t.shape), np.zeros((2, 3))))
    assert library("CallCuda")(byref(frame)) is None, runtime.errors
    assert (seen, runtime.freed) == ([(2, 3)], [])


def test_tensor_in_memory_of_xla_that_outlives_the_call_is_an_error(library, allocating):
    owners = []
    runtime = Runtime()
    frame = device_frame(runtime, allocating(owners.append))
    assert library("CallCuda")(byref(frame)) == 1
    assert "in XLA's memory outlives the call" in runtime.errors[0][1]
    owners.clear()
    assert runtime.freed == []  # XLA accepts memory only during the call, so it is leaked.


def test_allocation_that_xla_refuses_is_a_memory_error(library, allocating):
    runtime = Runtime()
    runtime.has_memory = False
    frame = device_frame(runtime, allocating(lambda tensor: None))
    assert library("CallCuda")(byref(frame)) == 1
    assert "MemoryError: XLA has no memory for a tensor of this size" in runtime.errors[0][1]


def test_results_on_a_device_are_not_copied(library, function):
    runtime = Runtime()
    frame = runtime.frame(
        [],
        [np.zeros(2, np.float32)],
        {
            "__function": function(lambda: tvm_ffi.from_dlpack(np.zeros(2, np.float32))),
            "__arguments": argument_codes(),
        },
    )
    library("CallCuda")(byref(frame))
    ((status, message),) = runtime.errors
    assert status == 3
    assert "result 0 of the function is not in CPU memory" in message


# ---- look-up of functions, numbers of arguments --------------------------------------------------


def test_functions_with_the_same_checksum_are_distinguished(library, function):
    """The checksum only selects a cache entry; the handler compares the names."""
    seen = []
    for name in ("tests.xla.one", "tests.xla.two", "tests.xla.three", "tests.xla.two"):
        if name not in seen:
            function(lambda name=name: seen.append(name), name)
        frame = Runtime().frame(attributes={"__function": name, "__arguments": argument_codes()})
        assert library("CallCpu")(byref(frame)) is None
    assert seen == ["tests.xla.one", "tests.xla.two", "tests.xla.three", "tests.xla.two"]


def test_program_calls_the_function_that_is_registered_now(library, function):
    seen = []
    frame = Runtime().frame(
        attributes={
            "__function": function(lambda: seen.append(1), "tests.xla.replaced"),
            "__arguments": argument_codes(),
        }
    )
    assert library("CallCpu")(byref(frame)) is None
    tvm_ffi.register_global_func("tests.xla.replaced", lambda: seen.append(2), override=True)
    assert library("CallCpu")(byref(frame)) is None
    assert seen == [1, 2]


@pytest.mark.parametrize(
    ("num_arrays", "rank"),
    [(1, 0), (24, 2), (25, 2), (3, 22), (2, 32), (200, 3)],
    ids=["scalar", "most", "more", "high-rank", "highest-rank", "large"],
)
def test_calls_with_any_number_and_rank_of_arrays(library, function, num_arrays, rank):
    shapes = [(i + 1,) + (1,) * (rank - 1) if rank else () for i in range(num_arrays)]
    arrays = [np.full(shape, i, np.float32) for i, shape in enumerate(shapes)]
    seen = []
    runtime = Runtime()
    frame = runtime.frame(
        arrays,
        attributes={
            "__function": function(lambda *xs: seen.extend((x.shape, x.numpy().sum()) for x in xs)),
            "__arguments": argument_codes(*(16 * i for i in range(num_arrays))),
        },
    )
    assert library("CallCpu")(byref(frame)) is None, runtime.errors
    assert seen == [(shape, i * (i + 1 if rank else 1)) for i, shape in enumerate(shapes)]


def test_empty_array_may_have_huge_extents(library, function):
    """The strides overflow, which is defined behaviour for unsigned integers only."""
    seen = []
    extents = (c_int64 * 3)(0, 2**40, 2**40)
    frame = Runtime().frame(
        [np.zeros((0, 1, 1), np.float32)],
        attributes={
            "__function": function(lambda x: seen.append(x.shape)),
            "__arguments": argument_codes(0),
        },
    )
    frame.args.values[0].contents.dims = extents
    assert library("CallCpu")(byref(frame)) is None
    assert seen == [tuple(extents)]


def test_many_outputs_of_which_half_are_returned(library, function):
    outputs = [np.zeros(2, np.float32) for _ in range(70)]

    def fill(*borrowed):
        for i, output in enumerate(borrowed):
            output.numpy()[:] = i
        return [np.full(2, 100 + i, np.float32) for i in range(35)]

    runtime = Runtime()
    frame = runtime.frame(
        [],
        outputs,
        {
            "__function": function(fill),
            "__arguments": argument_codes(*(16 * i + 1 for i in range(0, 70, 2))),
        },
    )
    assert library("CallCpu")(byref(frame)) is None, runtime.errors
    assert [int(output[1]) for output in outputs[::2]] == list(range(35))
    assert [int(output[0]) for output in outputs[1::2]] == list(range(100, 135))


# ---- corrupt programs ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({}, "has no attributes __function and __arguments"),
        ({"__function": "f"}, "has no attributes __function and __arguments"),
        ({"__function": 5, "__arguments": argument_codes()}, "has no attributes __function and"),
        ({"__function": "f", "__arguments": "text"}, "has no attributes __function and"),
        ({"__function": "f", "__arguments": np.zeros(1, np.int32)}, "has no attributes __func"),
        ({"__function": "f", "__arguments": np.zeros(2, np.int64)}, "has no attributes __func"),
        ({"__function": "f", "__arguments": argument_codes(), "x": 1}, "XLA program was changed"),
        (
            {"__function": "f", "__arguments": argument_codes(0)},
            "the attribute __arguments does not match the call",
        ),
        (
            {"__function": "f", "__arguments": argument_codes(1)},
            "the attribute __arguments does not match the call",
        ),
        (
            {"__function": "f", "__arguments": argument_codes(9)},
            "the attribute __arguments does not match the call",
        ),
        (
            {"__function": "f", "__arguments": argument_codes(-14)},
            "the attribute __arguments does not match the call",
        ),
        (
            {"__function": "f", "__arguments": argument_codes(16 * 5 + 2)},
            "the attribute __arguments does not match the call",
        ),
        (
            {"__function": "f", "__arguments": argument_codes(16 * 9 + 4)},
            "the attribute __arguments does not match the call",
        ),
        (
            {"__function": "f", "__arguments": argument_codes(4)},
            "the attribute __arguments does not match the call",
        ),
        (
            {"__function": "f", "__arguments": argument_codes(32 + 4, num_attributes=3), "x": "{"},
            r"call_tvm_ffi('f'): ValueError",
        ),
        ({"__function": "f", "__arguments": argument_codes(3)}, "no global function is named 'f'"),
    ],
)
def test_corrupt_program_is_rejected(library, attributes, message):
    runtime = Runtime()
    assert library("CallCpu")(byref(runtime.frame(attributes=attributes))) == 1
    assert message in runtime.errors[0][1]


def test_element_type_that_dlpack_lacks_is_rejected(library):
    runtime = Runtime()
    frame = runtime.frame(
        [np.zeros(2, np.int8)], attributes={"__function": "f", "__arguments": argument_codes(0)}
    )
    assert library("CallCpu")(byref(frame)) == 1
    assert runtime.errors[0][0] == 12
