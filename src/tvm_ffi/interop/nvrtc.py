# SPDX-License-Identifier: Apache-2.0
"""CUDA C++ as text, compiled by NVRTC, as functions: no toolkit, no GPU and no host compiler.

::

    scale = {"signature": "(x: float32[n], a: float)", "grid": "cdiv(n, 256)", "block": 256}
    module = to_module(source, {"scale": scale}, arch="sm_90")

A ``RawKernel`` of CuPy is such text with the name of its kernel: `from_raw_kernel`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..codegen import DeviceImage, described_plans, launch_module
from ..cpp.nvrtc import nvrtc_compile
from ._tried import load

if TYPE_CHECKING:
    from ..module import Module

__all__ = ["from_raw_kernel", "to_module"]

load("cuda.bindings", "13.0.0", "13.5.0", distribution="cuda-bindings")


def to_module(
    source: str,
    functions: Mapping[str, Mapping[str, Any]],
    *,
    arch: str | Sequence[str],
    options: Sequence[str] = (),
    name: str = "kernels.cu",
) -> Module:
    """Compile CUDA C++; return a module with functions that launch its kernels.

    Parameters
    ----------
    source : str
        The text.  Kernels are ``extern "C"``, or go by their mangled names.
    functions : mapping of str to mapping
        The functions by name: the arguments of `tvm_ffi.codegen.make_launch_plan`, as in
        `tvm_ffi.cuda.create_module`.
    arch : str or sequence of str
        Architectures to compile for: ``"sm_90a"``.
    options : sequence of str, optional
        More options for NVRTC.
    name : str
        What errors of the compiler call the text.

    Returns
    -------
    Module
        Of kind ``"cuda_driver"``: it can be exported, and loaded without NVRTC and Python.

    Raises
    ------
    RuntimeError
        If the compilation fails; with all that the compiler says.
    ValueError
        If a description does not fit its kernel.
    """
    listed = [arch] if isinstance(arch, str) else list(arch)
    if not listed:
        raise ValueError("text is compiled for an architecture, got none")
    images = [
        DeviceImage(
            nvrtc_compile(source, name=name, arch=one, extra_opts=options), architecture=one
        )
        for one in listed
    ]
    return launch_module(described_plans(functions, images))


def from_raw_kernel(
    kernel: Any, signature: str, *, arch: str | Sequence[str], **description: Any
) -> Module:
    """Return a module with one function, which launches a ``RawKernel`` of CuPy.

    Parameters
    ----------
    kernel : cupy.RawKernel
        Its text, name and options are taken; it need not have been compiled.
    signature : str
        What callers see; the function has its name, or that of the kernel.
    arch : str or sequence of str
        Architectures to compile for: ``"sm_90a"``.
    **description
        More arguments of `tvm_ffi.codegen.make_launch_plan`: ``grid``, ``block``, ``arguments``.

    Raises
    ------
    TypeError
        If it is no such kernel.
    RuntimeError
        If the compilation fails; with all that the compiler says.
    ValueError
        If the description does not fit the kernel.
    """
    parts = [getattr(kernel, part, None) for part in ("code", "name", "options")]
    code, name, options = parts
    if not isinstance(code, str) or not isinstance(name, str):
        raise TypeError(f"expected a RawKernel with its text, got {type(kernel).__name__}")
    function = signature.partition("(")[0].strip() or name
    described = {"signature": signature, "kernel": name, **description}
    return to_module(code, {function: described}, arch=arch, options=tuple(options or ()))
