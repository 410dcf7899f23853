# SPDX-License-Identifier: Apache-2.0
"""Build and registration of the C++ operators that ``call_tvm_ffi`` adds to TensorFlow graphs.

TensorFlow's C++ interface differs between releases.  The operators are therefore compiled on the
user's machine for the installed TensorFlow, not shipped in the wheel.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...libinfo import load_lib_ctypes

__all__ = ["operators", "xla_operators"]

SOURCE = Path(__file__).with_name("op.cc")
XLA_SOURCE = Path(__file__).with_name("xla_op.cc")
# Folders that XLA's headers include from, relative to TensorFlow's include folder.
_XLA_INCLUDES = ("external/highwayhash", "external/farmhash_archive/src")


@functools.cache
def operators(tensorflow: Any) -> Any:
    """Return the module of loaded operators; the first build takes half a minute.

    Parameters
    ----------
    tensorflow : module
        The ``tensorflow`` module.

    Raises
    ------
    RuntimeError
        If there is no C++ compiler, or the compilation fails.
    """
    loaded = tensorflow.load_op_library(_library(tensorflow, SOURCE))
    for name in ("TvmFfiCall", "TvmFfiPureCall"):
        tensorflow.RegisterGradient(name)(_refuse_gradient)
    return loaded


@functools.cache
def xla_operators(tensorflow: Any) -> None:
    """Register the operators with TensorFlow's XLA; the first build takes a minute.

    Raises
    ------
    RuntimeError
        If TensorFlow has executed an operation already, there is no C++ compiler, the compilation
        fails, or XLA rejects the custom call.
    """
    if _has_started(tensorflow):
        raise RuntimeError(
            "register_operators(xla=True): TensorFlow has executed an operation already, after "
            "which it ignores new XLA operators; call register_operators before the first operation"
        )
    operators(tensorflow)
    include = Path(tensorflow.sysconfig.get_include())
    path = _library(
        tensorflow,
        XLA_SOURCE,
        [f"-I{include / folder}" for folder in _XLA_INCLUDES],
        ["-l:libtensorflow_cc.so.2"],
    )
    tensorflow.load_library(path)
    register = ctypes.CDLL(path).TVMFFITensorFlowRegisterHandler
    register.argtypes, register.restype = [ctypes.c_void_p], ctypes.c_void_p
    handler = load_lib_ctypes("pytvmffi", "tvm_ffi_xla", "RTLD_LOCAL").TVMFFIXlaCallCpu
    if register(ctypes.cast(handler, ctypes.c_void_p)):
        raise RuntimeError(
            "the XLA of this TensorFlow version does not accept the custom call 'call_tvm_ffi'"
        )


def _has_started(tensorflow: Any) -> bool:
    """Return True if TensorFlow has executed an operation.

    TensorFlow then rejects a change of its number of threads, which this function attempts.
    """
    threading = tensorflow.config.threading
    num_threads = threading.get_inter_op_parallelism_threads()
    try:
        threading.set_inter_op_parallelism_threads(num_threads + 1)
    except RuntimeError:
        return True
    threading.set_inter_op_parallelism_threads(num_threads)
    return False


def _library(
    tensorflow: Any, source: Path, cflags: Sequence[str] = (), ldflags: Sequence[str] = ()
) -> str:
    """Build an operator library and return its path in the build cache.

    The cache key contains TensorFlow's headers and its flags.  Macros add the version, because an
    update may leave the headers unchanged, and the linker flags, because keys do not contain the
    folders of linked libraries.
    """
    from ... import cpp

    config = tensorflow.sysconfig
    return cpp.build(
        f"tvm_ffi_tensorflow_{source.stem}",
        cpp_files=str(source),
        extra_cflags=[
            *config.get_compile_flags(),
            "-Wno-deprecated-declarations",
            f"-DTVM_FFI_TENSORFLOW_VERSION={tensorflow.__version__}",
            f"-DTVM_FFI_TENSORFLOW_LINK={' '.join(config.get_link_flags())}",
            *cflags,
        ],
        # Several libraries that the process has loaded define TensorFlow's functions.
        extra_ldflags=[*config.get_link_flags(), *ldflags, "-Wl,-z,undefs"],
    )


def _refuse_gradient(operation: Any, *gradients: Any) -> Any:
    name = operation.get_attr("function").decode()
    raise LookupError(f"call_tvm_ffi({name!r}) has no derivative; pass a derivative rule as vjp=")
