# SPDX-License-Identifier: Apache-2.0
"""The operators of TensorFlow behind ``call_tvm_ffi``: C++, built for the TensorFlow that is there.

TensorFlow's C++ interface differs between releases, so no wheel can bring them.
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
# What headers of XLA include as if it were installed; below TensorFlow's own headers.
_XLA_NEEDS = ("external/highwayhash", "external/farmhash_archive/src")


@functools.cache
def operators(tensorflow: Any) -> Any:
    """Return the module of operators; the first time on a machine this compiles for half a minute.

    Parameters
    ----------
    tensorflow : module
        TensorFlow.

    Raises
    ------
    RuntimeError
        If there is no compiler for C++, or it fails.
    """
    loaded = tensorflow.load_op_library(_library(tensorflow, SOURCE))
    for name in ("TvmFfiCall", "TvmFfiPureCall"):
        tensorflow.RegisterGradient(name)(_refuse_gradient)
    return loaded


@functools.cache
def xla_operators(tensorflow: Any) -> None:
    """Make the operators known to TensorFlow's XLA; the first time this compiles for a minute.

    Raises
    ------
    RuntimeError
        If TensorFlow has run something already, there is no compiler for C++, it fails, or XLA
        refuses the custom call.
    """
    if _has_started(tensorflow):
        raise RuntimeError(
            "register_operators(xla=True): TensorFlow has run something already, and looks only "
            "once which operators XLA knows: call it before that"
        )
    operators(tensorflow)
    include = Path(tensorflow.sysconfig.get_include())
    path = _library(
        tensorflow,
        XLA_SOURCE,
        [f"-I{include / needed}" for needed in _XLA_NEEDS],
        ["-l:libtensorflow_cc.so.2"],
    )
    tensorflow.load_library(path)
    register = ctypes.CDLL(path).TVMFFITensorFlowRegisterHandler
    register.argtypes, register.restype = [ctypes.c_void_p], ctypes.c_void_p
    handler = load_lib_ctypes("pytvmffi", "tvm_ffi_xla", "RTLD_LOCAL").TVMFFIXlaCallCpu
    if register(ctypes.cast(handler, ctypes.c_void_p)):
        raise RuntimeError("the XLA of this TensorFlow does not take the custom call")


def _has_started(tensorflow: Any) -> bool:
    """Whether TensorFlow has run something: then it refuses to change how many threads it has."""
    threads = tensorflow.config.threading
    number = threads.get_inter_op_parallelism_threads()
    try:
        threads.set_inter_op_parallelism_threads(number + 1)
    except RuntimeError:
        return True
    threads.set_inter_op_parallelism_threads(number)
    return False


def _library(
    tensorflow: Any, source: Path, cflags: Sequence[str] = (), ldflags: Sequence[str] = ()
) -> str:
    """Return the path of a library, in the cache under all that it depends on.

    That is the headers and flags of TensorFlow, where its library lies, and its version, which
    headers that were patched in place may not tell.
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
            *cflags,
        ],
        extra_ldflags=[*config.get_link_flags(), *ldflags],
    )


def _refuse_gradient(operation: Any, *gradients: Any) -> Any:
    name = operation.get_attr("function").decode()
    raise LookupError(f"call_tvm_ffi({name!r}) has no derivative: give it with vjp=")
