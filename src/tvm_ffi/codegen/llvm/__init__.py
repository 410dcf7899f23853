# SPDX-License-Identifier: Apache-2.0
"""Generated wrappers as LLVM IR in llvmlite modules, for compilers that emit LLVM.

>>> from llvmlite import ir
>>> from tvm_ffi.codegen import llvm
>>> module = ir.Module("kernels")
>>> # ... the compiler puts the function `scale` into it
>>> _ = llvm.emit_wrapper(module, "scale(x: float32*[n], y: out float32*[n], n: int32)")

`jit` compiles a module in this process without a C compiler, and `tvm_ffi.export_library` writes it
to a library.  This package needs llvmlite: ``pip install 'pytvmffi[codegen]'``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

try:
    from llvmlite import binding, ir
except ModuleNotFoundError as error:
    if error.name != "llvmlite":
        raise  # llvmlite is installed, but one of its imports is missing
    raise ModuleNotFoundError(
        "tvm_ffi.codegen.llvm needs llvmlite: pip install 'pytvmffi[codegen]'", name="llvmlite"
    ) from error

from ...signature import Signature
from .._launch import LaunchPlan
from .._wrapper import Wrapper, make_wrapper
from . import _target as target
from ._emit import emit
from ._jit import JitModule, export

__all__ = ["JitModule", "emit_wrapper", "export_library", "jit", "object_code"]


def emit_wrapper(
    module: Any,
    signature: Signature | str | Wrapper,
    callee: Any = None,
    *,
    arguments: Sequence[str] | None = None,
    returns: str | None = None,
    device: str | None = "cpu",
) -> Any:
    """Add a wrapper ``__tvm_ffi_NAME`` and its metadata to a module.

    Parameters
    ----------
    module : llvmlite.ir.Module
        The module to change.  Its triple must be a little-endian machine with 64-bit addresses;
        without a triple, the module is for this machine.
    signature : Signature, str or Wrapper
        Signature that callers see; a `Wrapper` also contains the other arguments of this function.
    callee : str or llvmlite.ir.Function, optional
        The C function, as in `tvm_ffi.codegen.make_wrapper`.  It is declared in the module unless
        the module already defines or declares it.
    arguments, returns, device
        As in `tvm_ffi.codegen.make_wrapper`.

    Returns
    -------
    llvmlite.ir.Function
        The wrapper.

    Raises
    ------
    ValueError
        If the callee cannot be called with the signature, the module already contains the wrapper,
        or its target is not supported.  The module is unchanged in this case.

    Notes
    -----
    The callee has the type that a C compiler gives it: addresses are ``ptr``, integers have their
    width, ``bool`` is ``i1``, ``float32`` is ``float``.  Threads: one thread at a time may use a
    module.
    """
    if isinstance(signature, LaunchPlan):
        raise TypeError(
            f"{signature.name}: a launch plan becomes a module by tvm_ffi.codegen.launch_module, "
            "or C by tvm_ffi.codegen.c.source_of; it cannot become LLVM IR"
        )
    if isinstance(signature, Wrapper):
        wrapper = signature
    else:
        name = callee if callee is None or isinstance(callee, str) else callee.name
        wrapper = make_wrapper(signature, name, arguments=arguments, returns=returns, device=device)
    return emit(module, wrapper)


def jit(
    module: Any,
    *,
    link: Sequence[Any] = (),
    symbols: Mapping[str, int] | None = None,
    optimization: int = 2,
) -> JitModule:
    """Compile a module in this process, without a C compiler or a linker.

    Parameters
    ----------
    module : llvmlite.ir.Module, llvmlite.binding.ModuleRef or str
        IR with functions ``__tvm_ffi_NAME``.  All other functions become internal, so that they do
        not clash with other libraries.  Later changes of the module have no effect.
    link : sequence of llvmlite.ir.Module, llvmlite.binding.ModuleRef and str, optional
        Modules that define functions which `module` declares.
    symbols : mapping from str to int, optional
        Addresses of functions that `module` declares and the process does not export.
    optimization : {0, 1, 2, 3}
        Optimization level.

    Returns
    -------
    JitModule
        A module whose functions keep the machine code alive.  If a function is not a wrapper from
        `emit_wrapper`, or creates objects, the code is never unloaded, because it may contain
        deleters of returned objects.

    Raises
    ------
    ValueError
        If LLVM rejects the module, or a function that the module calls is undefined.
    """
    text = _linked_text(module, link, optimization)
    return JitModule(text, dict(symbols or {}), optimization)


def export_library(
    path: str | os.PathLike[str],
    modules: Sequence[JitModule],
    *,
    cpu: str = "",
    features: str = "",
    **options: Any,
) -> Path:
    """Write modules that `jit` returned to one library; using it needs neither LLVM nor Python.

    Parameters
    ----------
    path : str or path-like
        The library to write.
    modules : sequence of JitModule
        The modules to write.
    cpu, features : str, optional
        Processor and features in LLVM's notation (``"x86-64-v3"``); by default the baseline of the
        architecture.
    **options
        As in `tvm_ffi.export_library`, which links the library.  Use that function for a single
        module, or together with modules of other kinds.

    Raises
    ------
    ValueError
        If there are no modules, or two functions have the same name.
    RuntimeError
        If the linker fails.
    """
    return export(path, modules, cpu, features, options)


def object_code(
    module: Any,
    *,
    link: Sequence[Any] = (),
    triple: str | None = None,
    cpu: str = "",
    features: str = "",
    optimization: int = 2,
) -> bytes:
    """Return the object file of a module for any target of LLVM.

    Parameters
    ----------
    module, link
        As in `jit`.
    triple : str, optional
        The target; by default the triple of the module, or of this machine if it has none.
    cpu, features : str, optional
        Processor and features in LLVM's notation; by default the baseline of the triple.
    optimization : {0, 1, 2, 3}
        Optimization level.

    Raises
    ------
    ValueError
        If LLVM rejects the module or does not have the target.
    """
    text = _linked_text(module, link, optimization, triple)
    return target.object_of(text, target.triple_of(text, triple), cpu, features, optimization)


def _linked_text(
    module: Any, others: Sequence[Any], optimization: int, triple: str | None = None
) -> str:
    """Return the IR of a module linked with other modules."""
    if optimization not in range(4):
        raise ValueError(f"optimization must be 0, 1, 2 or 3, got {optimization!r}")
    text = _text_of(module, "module")
    if isinstance(others, (str, bytes)) or not isinstance(others, Sequence):
        raise TypeError(
            f"link: expected a sequence of modules, got {type(others).__name__}; "
            "write link=[module]"
        )
    if not others:
        return text
    modules = [text, *(_text_of(other, f"link[{i}]") for i, other in enumerate(others))]
    return target.linked(modules, lambda name: True, target.triple_of(text, triple))


def _text_of(module: Any, name: str) -> str:
    """Return the IR of a module; raise TypeError for other values, such as paths and bitcode."""
    if isinstance(module, str):
        return module
    if not isinstance(module, (ir.Module, binding.ModuleRef)):
        raise TypeError(
            f"{name}: expected an llvmlite module or LLVM IR as a str, got {type(module).__name__}"
        )
    return str(module)
