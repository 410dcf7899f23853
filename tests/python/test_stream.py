# SPDX-License-Identifier: Apache-2.0
"""The current stream per thread and device: `use_raw_stream` and `use_torch_stream`."""

from __future__ import annotations

import ctypes
import threading

import pytest

import tvm_ffi
from tvm_ffi import core

CUDA_5 = tvm_ffi.device("cuda", 5)


def current(device=CUDA_5):
    return tvm_ffi.get_raw_stream(device)


def test_no_stream_is_zero():
    assert current() == 0
    assert current(tvm_ffi.device("cpu")) == 0


def test_stream_is_set_and_restored(kernels):
    with tvm_ffi.use_raw_stream(CUDA_5, 0x1234) as context:
        assert current() == 0x1234
        assert kernels.stream(2, 5).value == 0x1234
        assert (context.device_type, context.device_id, context.stream) == (2, 5, 0x1234)
    assert current() == 0
    assert kernels.stream(2, 5).value is None


def test_contexts_nest():
    with tvm_ffi.use_raw_stream(CUDA_5, 1):
        with tvm_ffi.use_raw_stream(CUDA_5, 2) as inner:
            assert inner.prev_stream == 1
            with tvm_ffi.use_raw_stream(CUDA_5, 0):
                assert current() == 0
            assert current() == 2
        assert current() == 1


def test_devices_have_their_own_streams():
    rocm = tvm_ffi.device("rocm", 5)
    with tvm_ffi.use_raw_stream(CUDA_5, 1), tvm_ffi.use_raw_stream(rocm, 2):
        assert (current(), current(rocm), current(tvm_ffi.device("cuda", 4))) == (1, 2, 0)


def test_stream_is_restored_after_an_exception():
    with pytest.raises(KeyError, match="x"), tvm_ffi.use_raw_stream(CUDA_5, 3):
        raise KeyError("x")
    assert current() == 0


def test_context_can_be_entered_again():
    context = tvm_ffi.use_raw_stream(CUDA_5, 3)
    for _ in range(2):
        with context:
            assert current() == 3
        assert current() == 0


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (ctypes.c_void_p(0x77), 0x77),
        (ctypes.c_void_p(None), 0),
        (0, 0),
        (1, 1),
        (2**64 - 1, 2**64 - 1),
        (True, 1),
    ],
    ids=str,
)
def test_streams_are_ints_and_pointers(stream, expected):
    with tvm_ffi.use_raw_stream(CUDA_5, 9), tvm_ffi.use_raw_stream(CUDA_5, stream):
        assert current() == expected


@pytest.mark.parametrize(
    "stream", [None, "0", 1.0, object(), ctypes.c_int(3)], ids=lambda stream: type(stream).__name__
)
def test_other_streams_are_value_errors(stream):
    with pytest.raises(ValueError, match=r"stream must be an int or a ctypes\.c_void_p"):
        tvm_ffi.use_raw_stream(CUDA_5, stream)


@pytest.mark.parametrize("stream", [-1, 2**64, -(2**63)])
def test_an_int_that_is_not_an_address_is_an_overflow_error(stream):
    with pytest.raises(OverflowError), tvm_ffi.use_raw_stream(CUDA_5, stream):
        pass
    assert current() == 0


@pytest.mark.parametrize("device", ["cuda:0", 2, None, (2, 0)], ids=repr)
def test_device_of_another_type_is_a_type_error(device):
    with pytest.raises(TypeError, match=r"device must be a tvm_ffi\.Device"):
        tvm_ffi.use_raw_stream(device, 1)


def test_a_negative_device_index_is_refused():
    device = tvm_ffi.device("cuda", -1)
    assert current(device) == 0
    with pytest.raises((ValueError, RuntimeError)), tvm_ffi.use_raw_stream(device, 1):
        pass


def test_threads_have_their_own_streams():
    seen = []
    with tvm_ffi.use_raw_stream(CUDA_5, 4):
        thread = threading.Thread(target=lambda: seen.append(current()))
        thread.start()
        thread.join()
        assert current() == 4
    assert seen == [0]


def test_low_level_functions():
    assert core._env_set_current_stream(2, 5, 8) == 0
    assert core._env_get_current_stream(2, 5) == 8
    assert core._env_set_current_stream(2, 5, ctypes.c_void_p(None)) == 8
    assert core._env_get_current_stream(2, 5) == 0


class RecordedContext:
    """A fake of torch's stream context that records calls."""

    def __init__(self):
        self.calls = []

    def __enter__(self):
        self.calls.append("enter")

    def __exit__(self, kind, error, traceback):
        self.calls.append(("exit", kind))


def test_torch_context_is_entered_and_left():
    pytest.importorskip("torch")
    context = RecordedContext()
    with tvm_ffi.use_torch_stream(context):
        assert context.calls == ["enter"]
    with pytest.raises(KeyError, match="x"), tvm_ffi.use_torch_stream(context):
        raise KeyError("x")
    assert context.calls == ["enter", ("exit", None), "enter", ("exit", KeyError)]


def test_torch_stream_without_torch_is_an_import_error(run_python):
    result = run_python(
        "import sys; sys.modules['torch'] = None\n"
        "import tvm_ffi\n"
        "try: tvm_ffi.use_torch_stream()\n"
        "except ImportError: print('ImportError')\n"
    )
    assert (result.returncode, result.stdout) == (0, "ImportError\n"), result.stderr
