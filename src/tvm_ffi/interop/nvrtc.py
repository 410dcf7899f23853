# SPDX-License-Identifier: Apache-2.0
"""NVRTC adapter: CUDA C++ source compiled to functions, without CUDA toolkit, GPU or C++ compiler.

::

    scale = {"signature": "(x: float32[n], a: float)", "grid": "cdiv(n, 256)", "block": 256}
    module = to_module(source, {"scale": scale}, arch="sm_90")

`from_raw_kernel` and `from_raw_module` compile the source of a CuPy ``RawKernel`` or ``RawModule``
in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..codegen import DeviceImage, described_plans, launch_module
from ..cpp.nvrtc import compile_with_names
from ._versions import load

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
    """Compile CUDA C++ source and return a module with functions that launch its kernels.

    Parameters
    ----------
    source : str
        CUDA C++ source text.
    functions : mapping of str to mapping
        Arguments of `tvm_ffi.codegen.make_launch_plan` by function name, as in
        `tvm_ffi.cuda.create_module`.  ``kernel`` is the symbol of the kernel, or a C++ expression
        that names a template instance or a kernel in a namespace: ``"scale<float>"``,
        ``"kernels::add"``.
    arch : str or sequence of str
        Architectures to compile for: ``"sm_90a"``.
    options : sequence of str, optional
        Additional NVRTC options, such as ``-I`` with a folder of headers: NVRTC has no others.
    name : str
        File name in compiler diagnostics.

    Returns
    -------
    Module
        A module of kind ``"cuda_driver"``.  It can be exported to a library, which is loaded
        without NVRTC and Python.

    Raises
    ------
    RuntimeError
        If the compilation fails; the message contains the compiler log.
    ValueError
        If a description in `functions` does not match its kernel.
    """
    architectures = [arch] if isinstance(arch, str) else list(arch)
    if not architectures:
        raise ValueError("arch: expected at least one architecture, got none")
    kernels = {name: description.get("kernel") for name, description in functions.items()}
    expressions = sorted({kernel for kernel in kernels.values() if _is_expression(kernel)})
    images: list[DeviceImage] = []
    symbols: dict[str, str] = {}
    for architecture in architectures:
        cubin, symbols = compile_with_names(
            source, expressions, name=name, arch=architecture, options=options
        )
        images.append(DeviceImage(cubin, architecture=architecture))
    descriptions = dict(functions)
    for function, kernel in kernels.items():
        if _is_expression(kernel):
            descriptions[function] = {**functions[function], "kernel": symbols[kernel]}
    return launch_module(described_plans(descriptions, images))


def _is_expression(kernel: Any) -> TypeGuard[str]:
    """Return True if `kernel` is a C++ expression such as ``f<4>``, False if it is a symbol."""
    return isinstance(kernel, str) and ("<" in kernel or "::" in kernel)


def from_raw_kernel(
    kernel: Any, signature: str, *, arch: str | Sequence[str], **description: Any
) -> Module:
    """Return a module with one function that launches a CuPy ``RawKernel``.

    Parameters
    ----------
    kernel : cupy.RawKernel
        The kernel.  Its source, name and options are used; it need not be compiled.
    signature : str
        Signature of the function; a signature without a name gets the kernel's name.
    arch : str or sequence of str
        Architectures to compile for: ``"sm_90a"``.
    **description
        Further arguments of `tvm_ffi.codegen.make_launch_plan`: ``grid``, ``block``,
        ``arguments``.

    Raises
    ------
    TypeError
        If `kernel` is not a ``RawKernel``.
    RuntimeError
        If the compilation fails; the message contains the compiler log.
    ValueError
        If the signature or another argument does not match the kernel.
    """
    name = getattr(kernel, "name", None)
    if not isinstance(name, str) or not hasattr(kernel, "code"):
        raise TypeError(f"kernel: expected a CuPy RawKernel, got {type(kernel).__name__}")
    function = signature.partition("(")[0].strip() or name
    described = {"signature": signature, "kernel": name, **description}
    return from_raw_module(kernel, {function: described}, arch=arch)


def from_raw_module(
    module: Any, functions: Mapping[str, Mapping[str, Any]], *, arch: str | Sequence[str]
) -> Module:
    """Return a module with functions that launch kernels of a CuPy ``RawModule``.

    Parameters
    ----------
    module : cupy.RawModule
        The CuPy module.  Its source and options are used; it need not be compiled.
    functions, arch
        See `to_module`.  Template instances are those that the ``kernel`` of a description names;
        the ``name_expressions`` of the CuPy module are ignored.  Launches are ``cooperative`` if
        the CuPy module enables cooperative groups.

    Raises
    ------
    TypeError
        If `module` is not a ``RawModule``, or was read from a file.
    RuntimeError
        If the compilation fails; the message contains the compiler log.
    ValueError
        If a description in `functions` does not match its kernel.
    """
    code, options = (getattr(module, name, None) for name in ("code", "options"))
    kind = type(module).__name__
    if getattr(module, "file_path", None) is not None:
        raise TypeError(
            f"module: expected a {kind} with source text, got one of the file "
            f"{module.file_path!r}; pass the file to tvm_ffi.codegen.make_launch_plan"
        )
    if not isinstance(code, str):
        raise TypeError(f"module: expected a CuPy RawModule, got {kind}")
    if getattr(module, "enable_cooperative_groups", False):
        functions = {
            name: {"cooperative": True, **description} for name, description in functions.items()
        }
    return to_module(code, functions, arch=arch, options=tuple(options or ()))
