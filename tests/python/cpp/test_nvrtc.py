# SPDX-License-Identifier: Apache-2.0
"""`nvrtc_compile`, with a fake cuda-python."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from tvm_ffi.cpp.nvrtc import nvrtc_compile

CUBIN = b"\x7fELF of a kernel"
# Compiler logs of the source texts that do not compile.
LOGS = {
    b"broken": b"k.cu(1): error: no\0",
    b"no header": b'k.cu(1): catastrophic error: cannot open source file "cuda_fp16.h"\0',
}


class Nvrtc(ModuleType):
    """A fake of ``cuda.bindings.nvrtc`` that compiles every text that `LOGS` does not contain.

    `alive` contains the programs that were not destroyed.
    """

    def __init__(self) -> None:
        super().__init__("cuda.bindings.nvrtc")
        self.alive: list[object] = []
        self.created: tuple[object, ...] = ()
        self.options: list[bytes] = []

    def nvrtcCreateProgram(self, source, name, count, headers, names):  # noqa: N802
        self.created = (source, name, count, headers, names)
        self.alive.append(self)
        return (0, self)

    def nvrtcCompileProgram(self, program, count, options):  # noqa: N802
        assert count == len(options)
        self.options = options
        return (6 if self.created[0] in LOGS else 0,)

    def nvrtcGetErrorString(self, status):  # noqa: N802
        return (0, b"NVRTC_ERROR_%d" % status)

    def nvrtcGetProgramLogSize(self, program):  # noqa: N802
        return (0, len(LOGS[self.created[0]]))

    def nvrtcGetProgramLog(self, program, log):  # noqa: N802
        return (_fill(log, LOGS[self.created[0]]),)

    def nvrtcGetCUBINSize(self, program):  # noqa: N802
        return (0, len(CUBIN)) if self.created[0] != b"no cubin" else (5, 0)

    def nvrtcGetCUBIN(self, program, cubin):  # noqa: N802
        return (_fill(cubin, CUBIN),)

    def nvrtcDestroyProgram(self, program):  # noqa: N802
        self.alive.remove(program)
        return (0,)


def _fill(target: bytes, content: bytes) -> int:
    """Write into a bytes object, as cuda-python does."""
    import ctypes

    assert len(target) == len(content)
    ctypes.memmove(target, content, len(content))
    return 0


@pytest.fixture
def nvrtc(monkeypatch):
    kinds = SimpleNamespace(
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR=75,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR=76,
    )
    driver = ModuleType("cuda.bindings.driver")
    driver.cuInit = lambda flags: (0,)
    driver.cuCtxGetDevice = lambda: (201, None)  # no context
    driver.cuDeviceGet = lambda ordinal: (0, ordinal)
    driver.cuDeviceGetAttribute = lambda kind, device: (0, {75: 9, 76: 1}[kind])
    driver.CUdevice_attribute = kinds
    library = Nvrtc()
    for name in ("cuda", "cuda.bindings"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    for module in (driver, library):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return library


def test_options_are_passed_and_the_program_is_destroyed(nvrtc):
    assert nvrtc_compile("text", arch="sm_90a", extra_opts=["-lineinfo"]) == CUBIN
    assert nvrtc.created == (b"text", b"kernel.cu", 0, None, None)
    assert nvrtc.options == [b"--gpu-architecture=sm_90a", b"-default-device", b"-lineinfo"]
    assert nvrtc.alive == []


def test_the_default_architecture_is_that_of_the_device(nvrtc):
    nvrtc_compile("text", name="k.cu")
    assert nvrtc.created[1] == b"k.cu"
    assert nvrtc.options == [b"--gpu-architecture=sm_91", b"-default-device"]


def test_a_compile_error_contains_the_log(nvrtc):
    with pytest.raises(RuntimeError, match=r"NVRTC_ERROR_6\nk\.cu\(1\): error: no$"):
        nvrtc_compile("broken", arch="sm_90")
    assert nvrtc.alive == []


def test_a_missing_header_is_an_error_that_says_where_headers_are(nvrtc):
    text = r'"cuda_fp16\.h"\nNVRTC finds headers only in folders of its options: pass -I .*toolkit'
    with pytest.raises(RuntimeError, match=text):
        nvrtc_compile("no header", arch="sm_90")


def test_a_failed_function_is_named(nvrtc):
    with pytest.raises(RuntimeError, match="nvrtcGetCUBINSize failed: NVRTC_ERROR_5"):
        nvrtc_compile("no cubin", arch="sm_90")
    assert nvrtc.alive == []


def test_a_missing_device_is_reported(nvrtc):
    sys.modules["cuda.bindings.driver"].cuInit = lambda flags: (100,)
    with pytest.raises(
        RuntimeError,
        match="cuInit failed with status 100; check that the machine has a CUDA device",
    ):
        nvrtc_compile("text")


def test_missing_cuda_python_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda", None)
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)
    with pytest.raises(RuntimeError, match="^CUDA bindings not available. Install with: pip"):
        nvrtc_compile("text")
