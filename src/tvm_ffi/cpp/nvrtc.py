# SPDX-License-Identifier: Apache-2.0
"""Run-time compilation of CUDA source text to a cubin with NVRTC.

Requires the package ``cuda-python``, which the first compilation imports.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from ..builds import announce

__all__ = ["nvrtc_compile"]

_HEADERS = (
    "NVRTC finds headers only in folders of its options: pass -I with the folder of the header. "
    "CUDA's headers are in the include folder of a CUDA toolkit, or of the package "
    "nvidia-cuda-runtime; <cuda/std/...> takes the place of the C++ standard library, in the "
    "package nvidia-cuda-cccl."
)


def nvrtc_compile(
    source: str,
    *,
    name: str = "kernel.cu",
    arch: str | None = None,
    extra_opts: Sequence[str] | None = None,
) -> bytes:
    """Compile CUDA source text to a cubin.

    Parameters
    ----------
    source : str
        CUDA source text.
    name : str
        File name of the source in compiler errors.
    arch : str, optional
        GPU architecture, such as ``"sm_90a"``; default: that of the current device.
    extra_opts : sequence of str, optional
        Additional options for NVRTC.  Headers are found only in folders of ``-I``: CUDA's are in
        the include folder of a CUDA toolkit, or of the package ``nvidia-cuda-runtime``.

    Returns
    -------
    bytes
        The cubin; `tvm_ffi.cpp.build_inline` accepts it as a value of `embed_cubin`.

    Raises
    ------
    RuntimeError
        If cuda-python is not installed or an NVRTC function fails.  The message of a failed
        compilation contains the compiler's log.
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
    """Compile CUDA source text to a cubin; return the cubin and the symbols of kernels in it.

    Parameters
    ----------
    source, name, arch, options
        See `nvrtc_compile`.
    expressions : sequence of str
        C++ names of kernels, such as ``"kernels::add"``.  A name with template arguments, such as
        ``"scale<float>"``, instantiates the template.

    Returns
    -------
    tuple of bytes and dict of str to str
        The cubin, and the symbol of each kernel by its C++ name.

    Raises
    ------
    RuntimeError
        See `nvrtc_compile`.
    """
    key = hashlib.sha256(repr((source, *expressions, arch, *options)).encode()).hexdigest()
    announce("NVRTC", name, key=key, reasons=["programs that NVRTC compiles are not cached"])
    nvrtc = _bindings("nvrtc")
    # Import the driver bindings only without `arch`, because the machine may lack a CUDA driver.
    architecture = _device_architecture(_bindings("driver")) if arch is None else arch
    options = [f"--gpu-architecture={architecture}", "-default-device", *options]
    program = _checked(
        nvrtc,
        "nvrtcCreateProgram",
        nvrtc.nvrtcCreateProgram(source.encode(), name.encode(), 0, None, None),
    )
    try:
        for expression in expressions:
            result = nvrtc.nvrtcAddNameExpression(program, expression.encode())
            _checked(nvrtc, "nvrtcAddNameExpression", result)
        cubin = _compile(nvrtc, program, [option.encode() for option in options])
        symbols = {name: _symbol(nvrtc, program, name) for name in expressions}
        return cubin, symbols
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
        log = _log(nvrtc, program)
        remedy = f"\n{_HEADERS}" if "open source file" in log else ""
        raise RuntimeError(f"NVRTC compilation failed: {_text(nvrtc, status)}\n{log}{remedy}")
    size = _checked(nvrtc, "nvrtcGetCUBINSize", nvrtc.nvrtcGetCUBINSize(program))
    cubin: bytes = b" " * size  # buffer that NVRTC fills
    _checked(nvrtc, "nvrtcGetCUBIN", nvrtc.nvrtcGetCUBIN(program, cubin))
    return cubin


def _symbol(nvrtc: Any, program: Any, expression: str) -> str:
    result = nvrtc.nvrtcGetLoweredName(program, expression.encode())
    symbol: bytes = _checked(nvrtc, "nvrtcGetLoweredName", result)
    return symbol.decode()


def _log(nvrtc: Any, program: Any) -> str:
    """Return the compiler log of an NVRTC program."""
    size = _checked(nvrtc, "nvrtcGetProgramLogSize", nvrtc.nvrtcGetProgramLogSize(program))
    log: bytes = b" " * size  # buffer that NVRTC fills
    _checked(nvrtc, "nvrtcGetProgramLog", nvrtc.nvrtcGetProgramLog(program, log))
    return log.rstrip(b"\0 ").decode(errors="replace")


def _checked(nvrtc: Any, function: str, result: tuple[Any, ...]) -> Any:
    """Return the value of an NVRTC call; raise RuntimeError if the call failed."""
    status, *values = result
    if int(status) != 0:
        raise RuntimeError(f"{function} failed: {_text(nvrtc, status)}")
    return values[0] if values else None


def _text(nvrtc: Any, status: Any) -> str:
    _, text = nvrtc.nvrtcGetErrorString(status)
    return text.decode() if isinstance(text, bytes) else str(text)


def _device_architecture(driver: Any) -> str:
    """Return the architecture of the current device, or of device 0 without a CUDA context."""
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


def _driver_checked(function: str, result: tuple[Any, ...]) -> Any:
    """Return the value of a CUDA driver call; raise RuntimeError if the call failed."""
    status, *values = result
    if int(status) != 0:
        raise RuntimeError(
            f"CUDA driver function {function} failed with status {int(status)}; check that the "
            "machine has a CUDA device"
        )
    return values[0] if values else None
