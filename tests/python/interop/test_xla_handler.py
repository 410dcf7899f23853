# SPDX-License-Identifier: Apache-2.0
"""The handlers of our custom call, called as XLA does, with a stand-in for XLA that records.

What needs a GPU to run for real: the stream, the device, and what handlers say about themselves.
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
CUDA, ROCM = 2, 10  # device types of DLPack
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
    """The table of XLA's functions, with those behind that a handler on a GPU calls."""

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
    """Stands for XLA."""

    def __init__(self, version=(0, 3)):
        self.errors = []
        self.stream_error = None
        self.memory = {}  # what is lent: size and buffer by address
        self.given_back = []
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
        self.given_back.append(size)

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
        """Return the frame of a call, and what it points to."""
        kept = [self]
        frame = xla.CallFrame(struct_size=ctypes.sizeof(xla.CallFrame), ctx=CONTEXT)
        frame.api = cast(pointer(self.table), POINTER(xla.Api))
        for buffers, arrays in ((frame.args, args), (frame.rets, rets)):
            _set_buffers(buffers, arrays, kept)
        _set_attributes(frame.attrs, attributes or {}, kept)
        frame.kept = kept
        return frame

    def metadata(self, handler, api=True):
        """Ask a handler what it says about itself."""
        answer = xla.Metadata(struct_size=ctypes.sizeof(xla.Metadata))
        question = xla.MetadataExtension(metadata=pointer(answer))
        question.base.type = 1
        frame = self.frame()
        frame.extension_start = ctypes.addressof(question)
        if not api:
            frame.api = None
        assert handler(byref(frame)) is None
        return (answer.api_version.major_version, answer.api_version.minor_version), answer.traits


def _set_buffers(buffers, arrays, kept):
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
    kept += [structs, *arrays]


def _set_attributes(attributes, values, kept):
    names, types, addresses = [], [], []
    for name in sorted(values):
        names.append(_span(name, kept))
        value = values[name]
        if isinstance(value, str):
            types.append(4)
            made = _span(value, kept)
        elif isinstance(value, np.ndarray):
            types.append(1)
            made = xla.Array(DTYPES[value.dtype], value.size, value.ctypes.data)
        else:
            types.append(3)
            number = np.int64(value).reshape(1)
            kept.append(number)
            made = xla.Scalar(5, number.ctypes.data)
        kept += [made, value]
        addresses.append(ctypes.addressof(made))
    attributes.size = len(names)
    attributes.types = (c_int32 * len(types))(*types)
    attributes.names = (POINTER(xla.ByteSpan) * len(names))(*map(pointer, names))
    attributes.values = (c_void_p * len(addresses))(*addresses)


def _span(text, kept):
    data = ctypes.create_string_buffer(text.encode())
    kept.append(data)
    return xla.ByteSpan(ctypes.addressof(data), len(text.encode()))


def plan(*codes, num_attributes=2):
    return np.array([num_attributes, 0, *codes], np.int32)


@pytest.fixture(scope="module")
def library():
    loaded = load_lib_ctypes("pytvmffi", "tvm_ffi_xla", "RTLD_LOCAL")

    def handler(name):
        return xla.Handler((f"TVMFFIXla{name}", loaded))

    return handler


@pytest.fixture
def function():
    """Register a function that the test gives, for the length of the test."""
    names = []

    def register(implementation, name="tests.xla.function"):
        tvm_ffi.register_global_func(name, implementation)
        names.append(name)
        return name

    yield register
    for name in names:
        tvm_ffi.remove_global_func(name)


# ---- what handlers say about themselves ---------------------------------------------------------


@pytest.mark.parametrize("version", [(0, 1), (0, 3), (0, 4), (0, 99), (1, 0)], ids=str)
def test_a_handler_was_made_for_the_version_that_asks(library, version):
    """XLA does without a back end whose handlers were made for another version than it supports."""
    assert Runtime(version).metadata(library("CallCpu")) == (version, 0)


def test_a_handler_that_is_not_told_the_version_names_the_oldest(library):
    assert Runtime().metadata(library("CallCpu"), api=False) == ((0, 1), 0)


@pytest.mark.parametrize(
    ("name", "traits"),
    [("CallCuda", 0), ("CallRocm", 0), ("CaptureCuda", 1), ("CaptureRocm", 1), ("CallCpu", 0)],
)
def test_only_calls_that_may_be_recorded_say_so(library, name, traits):
    assert Runtime().metadata(library(name))[1] == traits * COMMAND_BUFFER


def test_a_call_by_another_major_version_is_refused(library):
    runtime = Runtime((1, 0))
    assert library("CallCpu")(byref(runtime.frame())) == 1
    assert runtime.errors == [(12, "call_tvm_ffi: unknown version of XLA's interface")]


# ---- calls on a device --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "device_type"),
    [("CallCuda", CUDA), ("CaptureCuda", CUDA), ("CallRocm", ROCM), ("CaptureRocm", ROCM)],
)
def test_a_call_on_a_device_has_its_stream_and_tensors_on_it(library, function, name, device_type):
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
            "__arguments": plan(0, 1, 16 * 2 + 2, num_attributes=3),
            "n": 7,
        },
    )
    assert library(name)(byref(frame)) is None
    assert runtime.errors == []
    assert seen == [((device_type, ORDINAL), (4,), 7), STREAM]
    assert get_current_stream(device_type, ORDINAL) == 0


def test_a_runtime_without_the_ordinal_has_one_device(library, function):
    seen = []
    runtime = Runtime()
    runtime.table.struct_size = Api.device_ordinal_get.offset
    frame = runtime.frame(
        [np.zeros(2, np.float32)],
        attributes={
            "__function": function(lambda x: seen.append(x.__dlpack_device__())),
            "__arguments": plan(0),
        },
    )
    assert library("CallCuda")(byref(frame)) is None
    assert seen == [(CUDA, 0)]


def test_a_stream_that_cannot_be_had_ends_the_call_with_the_error_of_xla(library, function):
    runtime = Runtime()
    runtime.stream_error = 77
    frame = runtime.frame(attributes={"__function": function(lambda: None), "__arguments": plan()})
    assert library("CallCuda")(byref(frame)) == 77


@pytest.fixture
def allocating(kernels, function):
    """Register a function that makes a tensor like another, its argument, and has it seen."""

    def register(see, like=None):
        return function(lambda x: see(kernels.new_like(x if like is None else like)))

    return register


def device_frame(runtime, name):
    return runtime.frame(
        [np.zeros((2, 3), np.float32)], attributes={"__function": name, "__arguments": plan(0)}
    )


def test_tensors_that_a_function_makes_are_in_memory_of_xla(library, allocating):
    seen = []
    runtime = Runtime()

    def see(tensor):
        seen.append((tensor.__dlpack_device__(), tensor.shape, tensor.strides))
        assert list(runtime.memory) == [tensor.data_ptr()]

    frame = device_frame(runtime, allocating(see))
    assert library("CallCuda")(byref(frame)) is None, runtime.errors
    assert seen == [((CUDA, ORDINAL), (2, 3), (3, 1))]
    assert (runtime.memory, runtime.given_back) == ({}, [24])


def test_tensors_elsewhere_come_from_the_allocator_that_is_there_otherwise(library, allocating):
    seen = []
    runtime = Runtime()
    frame = device_frame(runtime, allocating(lambda t: seen.append(t.shape), np.zeros((2, 3))))
    assert library("CallCuda")(byref(frame)) is None, runtime.errors
    assert (seen, runtime.given_back) == ([(2, 3)], [])


def test_a_tensor_in_memory_of_xla_that_outlives_the_call_is_an_error(library, allocating):
    kept = []
    runtime = Runtime()
    frame = device_frame(runtime, allocating(kept.append))
    assert library("CallCuda")(byref(frame)) == 1
    assert "in XLA's memory outlives the call" in runtime.errors[0][1]
    kept.clear()
    assert runtime.given_back == []  # the call is over: there is nobody to give it to


def test_a_device_without_memory(library, allocating):
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
            "__arguments": plan(),
        },
    )
    library("CallCuda")(byref(frame))
    ((status, message),) = runtime.errors
    assert status == 3
    assert "result 0 of the function is not in CPU memory" in message


# ---- which function, how many arguments ----------------------------------------------------------


def test_a_number_that_two_names_share_keeps_them_apart(library, function):
    """The number in a program says where to look for a function, and proves nothing."""
    seen = []
    for name in ("tests.xla.one", "tests.xla.two", "tests.xla.three", "tests.xla.two"):
        if name not in seen:
            function(lambda name=name: seen.append(name), name)
        frame = Runtime().frame(attributes={"__function": name, "__arguments": plan()})
        assert library("CallCpu")(byref(frame)) is None
    assert seen == ["tests.xla.one", "tests.xla.two", "tests.xla.three", "tests.xla.two"]


def test_a_program_calls_what_has_the_name_now(library, function):
    seen = []
    frame = Runtime().frame(
        attributes={
            "__function": function(lambda: seen.append(1), "tests.xla.replaced"),
            "__arguments": plan(),
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
def test_calls_of_any_size(library, function, num_arrays, rank):
    shapes = [(i + 1,) + (1,) * (rank - 1) if rank else () for i in range(num_arrays)]
    arrays = [np.full(shape, i, np.float32) for i, shape in enumerate(shapes)]
    seen = []
    runtime = Runtime()
    frame = runtime.frame(
        arrays,
        attributes={
            "__function": function(lambda *xs: seen.extend((x.shape, x.numpy().sum()) for x in xs)),
            "__arguments": plan(*(16 * i for i in range(num_arrays))),
        },
    )
    assert library("CallCpu")(byref(frame)) is None, runtime.errors
    assert seen == [(shape, i * (i + 1 if rank else 1)) for i, shape in enumerate(shapes)]


def test_extents_beside_one_of_0_may_be_of_any_size(library, function):
    """Their strides overflow, which is defined for numbers without sign only."""
    seen = []
    extents = (c_int64 * 3)(0, 2**40, 2**40)
    frame = Runtime().frame(
        [np.zeros((0, 1, 1), np.float32)],
        attributes={"__function": function(lambda x: seen.append(x.shape)), "__arguments": plan(0)},
    )
    frame.args.values[0].contents.dims = extents
    assert library("CallCpu")(byref(frame)) is None
    assert seen == [tuple(extents)]


def test_more_outputs_than_most_calls_have_some_of_them_returned(library, function):
    outputs = [np.zeros(2, np.float32) for _ in range(70)]

    def fill(*lent):
        for i, output in enumerate(lent):
            output.numpy()[:] = i
        return [np.full(2, 100 + i, np.float32) for i in range(35)]

    runtime = Runtime()
    frame = runtime.frame(
        [],
        outputs,
        {
            "__function": function(fill),
            "__arguments": plan(*(16 * i + 1 for i in range(0, 70, 2))),
        },
    )
    assert library("CallCpu")(byref(frame)) is None, runtime.errors
    assert [int(output[1]) for output in outputs[::2]] == list(range(35))
    assert [int(output[0]) for output in outputs[1::2]] == list(range(100, 135))


# ---- programs that were changed -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({}, "has no attributes __function and __arguments"),
        ({"__function": "f"}, "has no attributes __function and __arguments"),
        ({"__function": 5, "__arguments": plan()}, "has no attributes __function and"),
        ({"__function": "f", "__arguments": "text"}, "has no attributes __function and"),
        ({"__function": "f", "__arguments": np.zeros(1, np.int32)}, "has no attributes __func"),
        ({"__function": "f", "__arguments": np.zeros(2, np.int64)}, "has no attributes __func"),
        ({"__function": "f", "__arguments": plan(), "x": 1}, "the program was changed"),
        ({"__function": "f", "__arguments": plan(0)}, "__arguments does not fit the call"),
        ({"__function": "f", "__arguments": plan(1)}, "__arguments does not fit the call"),
        ({"__function": "f", "__arguments": plan(9)}, "__arguments does not fit the call"),
        ({"__function": "f", "__arguments": plan(-14)}, "__arguments does not fit the call"),
        ({"__function": "f", "__arguments": plan(16 * 5 + 2)}, "does not fit the call"),
        ({"__function": "f", "__arguments": plan(16 * 9 + 4)}, "does not fit the call"),
        ({"__function": "f", "__arguments": plan(4)}, "does not fit the call"),
        (
            {"__function": "f", "__arguments": plan(32 + 4, num_attributes=3), "x": "{"},
            r"call_tvm_ffi('f'): ValueError",
        ),
        ({"__function": "f", "__arguments": plan(3)}, "no global function is named 'f'"),
    ],
)
def test_a_program_that_was_changed_is_refused(library, attributes, message):
    runtime = Runtime()
    assert library("CallCpu")(byref(runtime.frame(attributes=attributes))) == 1
    assert message in runtime.errors[0][1]


def test_an_element_type_that_dlpack_lacks_is_refused(library):
    runtime = Runtime()
    frame = runtime.frame(
        [np.zeros(2, np.int8)], attributes={"__function": "f", "__arguments": plan(0)}
    )
    assert library("CallCpu")(byref(frame)) == 1
    assert runtime.errors[0][0] == 12
