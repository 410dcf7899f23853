# SPDX-License-Identifier: Apache-2.0
"""The operators of TensorFlow behind ``call_tvm_ffi``: C++, built for the TensorFlow that is there.

TensorFlow's C++ interface differs between releases, so no wheel can bring them.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

__all__ = ["operators"]

SOURCE = Path(__file__).with_name("op.cc")


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
    loaded = tensorflow.load_op_library(_library(tensorflow))
    for name in ("TvmFfiCall", "TvmFfiPureCall"):
        tensorflow.RegisterGradient(name)(_refuse_gradient)
    return loaded


def _library(tensorflow: Any) -> str:
    """Return the path of the library, in the cache under all that it depends on.

    That is the headers and flags of TensorFlow, where its library lies, and its version, which
    headers that were patched in place may not tell.
    """
    from ... import cpp

    config = tensorflow.sysconfig
    return cpp.build(
        "tvm_ffi_tensorflow",
        cpp_files=str(SOURCE),
        extra_cflags=[
            *config.get_compile_flags(),
            "-Wno-deprecated-declarations",
            f"-DTVM_FFI_TENSORFLOW_VERSION={tensorflow.__version__}",
        ],
        extra_ldflags=config.get_link_flags(),
    )


def _refuse_gradient(operation: Any, *gradients: Any) -> Any:
    name = operation.get_attr("function").decode()
    raise LookupError(f"call_tvm_ffi({name!r}) has no derivative: give it with vjp=")
