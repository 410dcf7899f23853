# SPDX-License-Identifier: Apache-2.0
"""Our custom call, known to XLA.

The handlers are in libtvm_ffi_xla.  Where a build has left it out, one in Python takes its place.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ...libinfo import load_lib_ctypes

__all__ = ["CAPTURE", "TARGET", "register"]

TARGET = "call_tvm_ffi"
CAPTURE = "call_tvm_ffi_command_buffer"  # the same for functions that may be recorded

# Which functions of the library serve which platforms, by the names that XLA has for them.
_HANDLERS = {
    ("cpu", TARGET): "TVMFFIXlaCallCpu",
    ("cpu", CAPTURE): "TVMFFIXlaCallCpu",
    ("CUDA", TARGET): "TVMFFIXlaCallCuda",
    ("CUDA", CAPTURE): "TVMFFIXlaCaptureCuda",
    ("ROCM", TARGET): "TVMFFIXlaCallRocm",
    ("ROCM", CAPTURE): "TVMFFIXlaCaptureRocm",
}
_MAJOR = 0  # of XLA's interface


def register(jax: Any) -> None:
    """Make the custom calls known to JAX.

    Raises
    ------
    ImportError
        If its interface for custom calls is of another major version than ours.
    """
    major = _major_version(Path(jax.ffi.include_dir()))
    if major is not None and major != _MAJOR:
        raise ImportError(
            f"this JAX has version {major}.x of XLA's interface for custom calls; "
            f"tvm_ffi.interop.jax was written for {_MAJOR}.x"
        )
    for (platform, target), handler in _handlers().items():
        jax.ffi.register_ffi_target(target, jax.ffi.pycapsule(handler), platform=platform)


def _major_version(include: Path) -> int | None:
    """Return the major version in the header of JAX; None where it ships none."""
    header = include / "xla" / "ffi" / "api" / "c_api.h"
    try:
        text = header.read_text(encoding="utf-8")
    except OSError:
        return None
    found = re.search(r"#define XLA_FFI_API_MAJOR (\d+)", text)
    return int(found[1]) if found else None


def _handlers() -> dict[tuple[str, str], Any]:
    try:
        library = load_lib_ctypes("pytvmffi", "tvm_ffi_xla", "RTLD_LOCAL")
    except RuntimeError:  # a build of the runtime alone
        from .python_handler import handler

        return {key: handler for key in _HANDLERS if key[0] == "cpu"}
    return {key: getattr(library, name) for key, name in _HANDLERS.items()}
