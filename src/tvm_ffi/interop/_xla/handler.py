# SPDX-License-Identifier: Apache-2.0
"""Registration of the custom call ``call_tvm_ffi`` with JAX.

The handlers, which XLA calls, are in libtvm_ffi_xla.  In a build without that library, the handler
written in Python (`python_handler`) is registered.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ...libinfo import load_lib_ctypes

__all__ = ["CAPTURE", "TARGET", "register"]

TARGET = "call_tvm_ffi"
CAPTURE = "call_tvm_ffi_command_buffer"  # name of the custom call if command_buffer=True

# Symbols of the handlers in libtvm_ffi_xla, by XLA's platform and by the custom call's name.
_HANDLERS = {
    ("cpu", TARGET): "TVMFFIXlaCallCpu",
    ("cpu", CAPTURE): "TVMFFIXlaCallCpu",
    ("CUDA", TARGET): "TVMFFIXlaCallCuda",
    ("CUDA", CAPTURE): "TVMFFIXlaCaptureCuda",
    ("ROCM", TARGET): "TVMFFIXlaCallRocm",
    ("ROCM", CAPTURE): "TVMFFIXlaCaptureRocm",
}
_MAJOR = 0  # major version of XLA's FFI for which the handlers are written


def register(jax: Any) -> None:
    """Register the custom calls with JAX.

    Raises
    ------
    ImportError
        If JAX's interface for custom calls has another major version than the handlers.
    """
    major = _major_version(Path(jax.ffi.include_dir()))
    if major is not None and major != _MAJOR:
        raise ImportError(
            f"tvm_ffi.interop.jax: expected version {_MAJOR}.x of XLA's interface for custom "
            f"calls, got {major}.x"
        )
    for (platform, target), handler in _handlers().items():
        jax.ffi.register_ffi_target(target, jax.ffi.pycapsule(handler), platform=platform)


def _major_version(include: Path) -> int | None:
    """Return the version in JAX's copy of the C header, or None if JAX has no such header."""
    header = include / "xla" / "ffi" / "api" / "c_api.h"
    try:
        text = header.read_text(encoding="utf-8")
    except OSError:
        return None
    match = re.search(r"#define XLA_FFI_API_MAJOR (\d+)", text)
    return int(match[1]) if match else None


def _handlers() -> dict[tuple[str, str], Any]:
    try:
        library = load_lib_ctypes("pytvmffi", "tvm_ffi_xla", "RTLD_LOCAL")
    except RuntimeError:  # The build does not contain libtvm_ffi_xla.
        from .python_handler import handler

        return {key: handler for key in _HANDLERS if key[0] == "cpu"}
    return {key: getattr(library, name) for key, name in _HANDLERS.items()}
