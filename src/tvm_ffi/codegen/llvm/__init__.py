# SPDX-License-Identifier: Apache-2.0
"""Wrappers as LLVM IR: put into a module of llvmlite, for compilers that write LLVM themselves.

>>> from llvmlite import ir
>>> from tvm_ffi.codegen import llvm
>>> module = ir.Module("kernels")
>>> # ... the compiler puts the function `scale` into it
>>> _ = llvm.emit_wrapper(module, "scale(x: float32*[n], y: out float32*[n], n: int32)")

`jit` makes it callable without a compiler of C, and `tvm_ffi.export_library` writes the result to a
library.  Needs llvmlite, ``pip install 'pytvmffi[codegen]'``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

try:
    import llvmlite as _llvmlite  # noqa: F401  (said in words before anything needs it)
except ModuleNotFoundError as error:
    if error.name != "llvmlite":
        raise  # it is there, and misses something itself
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
    """Put a wrapper into a module: ``__tvm_ffi_NAME``, and what tells its signature.

    Parameters
    ----------
    module : llvmlite.ir.Module
        Where it goes.  Its triple may be that of any little-endian machine with addresses of 64
        bits; without one, it is for this machine.
    signature : Signature, str or Wrapper
        What callers see; a `Wrapper` says the rest, too.
    callee : str or llvmlite.ir.Function, optional
        The function after, as in `tvm_ffi.codegen.make_wrapper`.  The module may define or declare
        it; it is declared where it does not.
    arguments, returns, device
        As in `tvm_ffi.codegen.make_wrapper`.

    Returns
    -------
    llvmlite.ir.Function
        The wrapper.

    Raises
    ------
    ValueError
        If signature and function do not fit each other, the module has the wrapper already, or is
        for another kind of machine.  The module is as it was, then.

    Notes
    -----
    The function behind has the type that a compiler of C gives it: addresses are ``ptr``, integers
    have their width, ``bool`` is ``i1``, ``float32`` is ``float``.  Threads: a module belongs to
    one at a time.
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
    """Compile a module for this process; needs no compiler of C, and no linker.

    Parameters
    ----------
    module : llvmlite.ir.Module, llvmlite.binding.ModuleRef or str
        IR with functions ``__tvm_ffi_NAME``; all others become its own business, so that no
        library can have another one of their names.  Later changes of it have no effect.
    link : sequence of llvmlite.ir.Module, llvmlite.binding.ModuleRef and str, optional
        Modules with functions that it declares, as other tools write them.
    symbols : mapping from str to int, optional
        Addresses of functions that it declares, beside those that the process has.
    optimization : {0, 1, 2, 3}
        How much is done for speed.

    Returns
    -------
    JitModule
        Its functions, which keep the code alive.  If one of them is no wrapper of `emit_wrapper`,
        or makes objects of the ABI, the code stays as long as the process, as that of a library
        does: what it returned may need it.

    Raises
    ------
    ValueError
        If LLVM does not take it, or a function that it calls is nowhere to be found.
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
    """Write what `jit` returned to one library, which needs neither LLVM nor Python.

    Parameters
    ----------
    path : str or path-like
        The library.
    modules : sequence of JitModule
        Whose functions it shall have.
    cpu, features : str, optional
        Processor and its abilities, as LLVM calls them (``"x86-64-v3"``); by default those that all
        machines of this kind have.
    **options
        As in `tvm_ffi.export_library`, which links it.  That one writes a single module, and
        together with it modules of other kinds.

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
    """Return the object file of a module, for any machine that LLVM knows.

    Parameters
    ----------
    module, link
        As in `jit`.
    triple : str, optional
        The machine; by default that of the module, and this one where it names none.
    cpu, features : str, optional
        Processor and its abilities, as LLVM calls them; by default those that all machines of the
        triple have.
    optimization : {0, 1, 2, 3}
        How much is done for speed.

    Raises
    ------
    ValueError
        If LLVM does not take the module, or does not know the machine.
    """
    text = _linked_text(module, link, optimization, triple)
    return target.object_of(text, target.triple_of(text, triple), cpu, features, optimization)


def _linked_text(
    module: Any, others: Sequence[Any], optimization: int, triple: str | None = None
) -> str:
    """Return all modules as the text of one."""
    if optimization not in range(4):
        raise ValueError(f"optimization is 0, 1, 2 or 3, got {optimization!r}")
    text = str(module)
    if not others:
        return text
    modules = [text, *map(str, others)]
    return target.linked(modules, lambda name: True, target.triple_of(text, triple))
