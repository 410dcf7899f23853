# SPDX-License-Identifier: Apache-2.0
"""Device code compiled while a program runs, by NVRTC: from CUDA text to a cubin.

Needs ``cuda-python``, imported when the first source is compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

__all__ = ["nvrtc_compile"]


def nvrtc_compile(
    source: str,
    *,
    name: str = "kernel.cu",
    arch: str | None = None,
    extra_opts: Sequence[str] | None = None,
) -> bytes:
    """Compile CUDA text to a cubin.

    Parameters
    ----------
    source : str
        The text.
    name : str
        What errors call it.
    arch : str, optional
        Architecture, such as ``"sm_90a"``; by default that of the current device.
    extra_opts : sequence of str, optional
        More options for NVRTC.

    Returns
    -------
    bytes
        The cubin, for `embed_cubin` of `tvm_ffi.cpp.build_inline`.

    Raises
    ------
    RuntimeError
        If cuda-python is missing or anything fails; with the log, if it is the compilation.
    """
    return compile_with_names(source, (), name=name, arch=arch, options=extra_opts or ())[0]


def compile_with_names(
    source: str,
    expressions: Sequence[str],
    *,
    name: str,
    arch: str | None,
    options: Sequence[str],
) -> tuple[bytes, dict[str, str]]:
    """Compile CUDA text to a cubin; return the symbols of kernels in it, too.

    Parameters
    ----------
    source, name, arch, options
        As in `nvrtc_compile`.
    expressions : sequence of str
        Kernels in the words of C++: ``"scale<float>"``, which this makes an instance of,
        ``"kernels::add"``.

    Raises
    ------
    RuntimeError
        As in `nvrtc_compile`.
    """
    nvrtc = _bindings("nvrtc")
    # The driver is asked only where it has to be: the machine may have none.
    architecture = _device_architecture(_bindings("driver")) if arch is None else arch
    options = [f"--gpu-architecture={architecture}", "-default-device", *options]
    program = _checked(
        nvrtc,
        "nvrtcCreateProgram",
        nvrtc.nvrtcCreateProgram(source.encode(), name.encode(), 0, None, None),
    )
    try:
        for one in expressions:
            answer = nvrtc.nvrtcAddNameExpression(program, one.encode())
            _checked(nvrtc, "nvrtcAddNameExpression", answer)
        cubin = _compile(nvrtc, program, [option.encode() for option in options])
        return cubin, {one: _symbol(nvrtc, program, one) for one in expressions}
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _bindings(name: str) -> Any:
    try:
        return import_module(f"cuda.bindings.{name}")
    except ImportError as error:
        raise RuntimeError(
            "CUDA bindings not available. Install with: pip install cuda-python"
        ) from error


def _compile(nvrtc: Any, program: Any, options: list[bytes]) -> bytes:
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if int(status) != 0:
        raise RuntimeError(
            f"NVRTC compilation failed: {_text(nvrtc, status)}\n{_log(nvrtc, program)}"
        )
    size = _checked(nvrtc, "nvrtcGetCUBINSize", nvrtc.nvrtcGetCUBINSize(program))
    cubin: bytes = b" " * size  # filled in place
    _checked(nvrtc, "nvrtcGetCUBIN", nvrtc.nvrtcGetCUBIN(program, cubin))
    return cubin


def _symbol(nvrtc: Any, program: Any, expression: str) -> str:
    answer = nvrtc.nvrtcGetLoweredName(program, expression.encode())
    symbol: bytes = _checked(nvrtc, "nvrtcGetLoweredName", answer)
    return symbol.decode()


def _log(nvrtc: Any, program: Any) -> str:
    """Return what the compiler said."""
    size = _checked(nvrtc, "nvrtcGetProgramLogSize", nvrtc.nvrtcGetProgramLogSize(program))
    log: bytes = b" " * size  # filled in place
    _checked(nvrtc, "nvrtcGetProgramLog", nvrtc.nvrtcGetProgramLog(program, log))
    return log.rstrip(b"\0 ").decode(errors="replace")


def _checked(nvrtc: Any, function: str, answer: tuple[Any, ...]) -> Any:
    """Return what a function of NVRTC gave besides its status."""
    status, *values = answer
    if int(status) != 0:
        raise RuntimeError(f"{function} failed: {_text(nvrtc, status)}")
    return values[0] if values else None


def _text(nvrtc: Any, status: Any) -> str:
    _, text = nvrtc.nvrtcGetErrorString(status)
    return text.decode() if isinstance(text, bytes) else str(text)


def _device_architecture(driver: Any) -> str:
    """Return the architecture of the current device, or of the first one."""
    _driver_checked("cuInit", driver.cuInit(0))
    status, *device = driver.cuCtxGetDevice()
    current = (
        device[0] if int(status) == 0 else _driver_checked("cuDeviceGet", driver.cuDeviceGet(0))
    )
    kinds = driver.CUdevice_attribute
    major, minor = (
        _driver_checked("cuDeviceGetAttribute", driver.cuDeviceGetAttribute(attribute, current))
        for attribute in (
            kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        )
    )
    return f"sm_{major}{minor}"


def _driver_checked(function: str, answer: tuple[Any, ...]) -> Any:
    status, *values = answer
    if int(status) != 0:
        raise RuntimeError(f"{function} failed with status {int(status)}; is there a CUDA device?")
    return values[0] if values else None
