# SPDX-License-Identifier: Apache-2.0
"""CUDA C++ as text, compiled by NVRTC, as functions: no toolkit, no GPU and no host compiler.

::

    scale = {"signature": "(x: float32[n], a: float)", "grid": "cdiv(n, 256)", "block": 256}
    module = to_module(source, {"scale": scale}, arch="sm_90")

A ``RawKernel`` of CuPy is such text with the name of its kernel, a ``RawModule`` text with several:
`from_raw_kernel`, `from_raw_module`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..codegen import DeviceImage, described_plans, launch_module
from ..cpp.nvrtc import compile_with_names
from ._tried import load

if TYPE_CHECKING:
    from typing_extensions import TypeGuard

    from ..module import Module

__all__ = ["from_raw_kernel", "from_raw_module", "to_module"]

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
        The text.  Kernels that are not ``extern "C"`` go by their mangled names, or by what C++
        calls them, see `functions`.
    functions : mapping of str to mapping
        The functions by name: the arguments of `tvm_ffi.codegen.make_launch_plan`, as in
        `tvm_ffi.cuda.create_module`.  A ``kernel`` may be an instance of a template,
        ``"scale<float>"``, and in a namespace, ``"kernels::add"``.
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
    kernels = {name: parts.get("kernel") for name, parts in functions.items()}
    expressions = sorted({kernel for kernel in kernels.values() if _is_expression(kernel)})
    images: list[DeviceImage] = []
    symbols: dict[str, str] = {}
    for one in listed:
        cubin, symbols = compile_with_names(
            source, expressions, name=name, arch=one, options=options
        )
        images.append(DeviceImage(cubin, architecture=one))
    named = dict(functions)
    for function, kernel in kernels.items():
        if _is_expression(kernel):
            named[function] = {**functions[function], "kernel": symbols[kernel]}
    return launch_module(described_plans(named, images))


def _is_expression(kernel: Any) -> TypeGuard[str]:
    """Return whether a kernel goes by what C++ calls it."""
    return isinstance(kernel, str) and ("<" in kernel or "::" in kernel)


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
    name = getattr(kernel, "name", None)
    if not isinstance(name, str) or not hasattr(kernel, "code"):
        raise TypeError(f"expected a RawKernel of CuPy, got {type(kernel).__name__}")
    function = signature.partition("(")[0].strip() or name
    described = {"signature": signature, "kernel": name, **description}
    return from_raw_module(kernel, {function: described}, arch=arch)


def from_raw_module(
    module: Any, functions: Mapping[str, Mapping[str, Any]], *, arch: str | Sequence[str]
) -> Module:
    """Return a module with functions that launch kernels of a ``RawModule`` of CuPy.

    Parameters
    ----------
    module : cupy.RawModule
        Its text and options are taken; it need not have been compiled.
    functions, arch
        As in `to_module`; instances of templates are those that ``kernel`` names.  Where the module
        asks for cooperative groups, launches are ``cooperative``.

    Raises
    ------
    TypeError
        If it is no such module, or one that is read from a file.
    RuntimeError
        If the compilation fails; with all that the compiler says.
    ValueError
        If a description does not fit its kernel.
    """
    code, options = (getattr(module, part, None) for part in ("code", "options"))
    kind = type(module).__name__
    if getattr(module, "file_path", None) is not None:
        raise TypeError(
            f"expected a {kind} with its text, got one of the file {module.file_path!r}; give that "
            "to tvm_ffi.codegen.make_launch_plan"
        )
    if not isinstance(code, str):
        raise TypeError(f"expected a RawModule of CuPy, got {kind}")
    if getattr(module, "enable_cooperative_groups", False):
        functions = {name: {"cooperative": True, **parts} for name, parts in functions.items()}
    return to_module(code, functions, arch=arch, options=tuple(options or ()))
