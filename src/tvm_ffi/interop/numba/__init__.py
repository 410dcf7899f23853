# SPDX-License-Identifier: Apache-2.0
"""Kernels in Python that Numba compiles: called without its dispatcher, shipped without Python.

>>> from tvm_ffi.interop.numba import export_library, kernel
>>> @kernel("scale(x: float32[n], y: out float32[n], a: float = 2.0)")
... def scale(x, y, a):
...     for i in range(x.shape[0]):
...         y[i] = a * x[i]

``scale`` is a `tvm_ffi.Function`: it checks its arguments by the signature, takes keywords, and
releases the GIL.  ``export_library("k.so", [scale])`` writes it to a library that programs of any
language call.  Needs Numba, ``pip install 'pytvmffi[numba]'``.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Callable, overload

from ..._binding.call import Function
from ...codegen.llvm import JitModule
from ...codegen.llvm import export_library as export_modules
from ...signature import Signature
from ._compile import Options
from ._module import check_function, module_of_kernel

__all__ = ["export_library", "kernel"]

# Options of Numba that cannot be, and why.
_REFUSED = {
    "cache": "libraries that export_library writes are loaded without compiling anything",
    "forceobj": "objects need Python",
    "nogil": "kernels never hold the lock",
    "parallel": "the threads are part of Numba's run-time library, and loops run on the caller's",
}


@overload
def kernel(signature: Callable[..., Any]) -> Function: ...
@overload
def kernel(
    signature: Signature | str | None = None,
    *,
    boundscheck: bool = False,
    fastmath: bool = False,
    error_model: str = "python",
) -> Callable[[Callable[..., Any]], Function]: ...
def kernel(
    signature: Signature | str | Callable[..., Any] | None = None,
    *,
    boundscheck: bool = False,
    fastmath: bool = False,
    error_model: str = "python",
    **unknown: Any,
) -> Function | Callable[[Callable[..., Any]], Function]:
    """Return a decorator that compiles a Python function to one of the ABI.

    ``@kernel`` alone is ``@kernel()``.

    Parameters
    ----------
    signature : Signature or str, optional
        What callers pass; by default what the function's annotations say.  The function has the
        same parameters, and behind them those results that are tensors, which it writes.  It gets
        tensors as arrays of Numba, compact ones where nothing else is said, and numbers as
        numbers.  An array that the signature does not call ``out`` or ``inout`` cannot be written.
        A function with dtype variables is compiled for each choice of dtypes.
    boundscheck : bool
        Whether an index that is out of bounds raises IndexError; it reads other memory otherwise.
    fastmath : bool
        Whether floats may be calculated in another order, as Numba's option of this name.
    error_model : {"python", "numpy"}
        Whether division by zero raises ZeroDivisionError, or is infinite.

    Returns
    -------
    callable
        The decorator; it returns a `tvm_ffi.Function`, whose attributes ``py_func`` and ``module``
        are the Python function and the module with the code.

    Raises
    ------
    TypeError
        If there is no such option.  By the decorator: if the function does not fit the signature,
        Numba cannot compile it, or what it does needs Python or Numba's run-time library.
    ValueError
        If the text is no signature, or says something that has no form in LLVM.

    Notes
    -----
    What the function raises arrives with its kind and its text, which must be constants.  Kernels
    allocate no memory, do not print and call no Python: results are allocated by the caller's
    framework, or passed.  Loops over ``numba.prange`` run on the calling thread.
    """
    if unknown:
        raise TypeError(_no_option(next(iter(unknown))))
    options = Options(boundscheck, fastmath, error_model)
    written = None if callable(signature) else signature

    def decorate(function: Callable[..., Any]) -> Function:
        plain = getattr(function, "py_func", function)  # of one that Numba compiles, too
        check_function(plain)
        module = module_of_kernel(plain, _signature_of(plain, written), options)
        made: Function = module.get_function(module.function_names()[0])
        vars(made).update(module=module, py_func=plain)
        return made

    return decorate(signature) if callable(signature) else decorate


def export_library(
    path: str | os.PathLike[str],
    kernels: Sequence[Function | JitModule],
    *,
    cpu: str = "",
    features: str = "",
    **options: Any,
) -> Path:
    """Write kernels to a library that needs neither Python nor Numba.

    Parameters
    ----------
    path : str or path-like
        The library.
    kernels : sequence of Function and JitModule
        What `kernel` returned; modules of `tvm_ffi.codegen.llvm` with all their functions.
    cpu, features : str, optional
        Processor and its abilities for which it is compiled, as LLVM calls them
        (``"x86-64-v3"``); by default those that all machines of this kind have.
    **options
        As in `tvm_ffi.export_library`, which links it.

    Raises
    ------
    TypeError
        If one of the kernels is something else.
    ValueError
        If there are none, or two have the same name.
    """
    modules = []
    for one in kernels:
        module = getattr(one, "module", one)
        if not isinstance(module, JitModule):
            raise TypeError(f"expected what `kernel` returns, got {type(one).__name__}")
        if module not in modules:
            modules.append(module)
    return export_modules(path, modules, cpu=cpu, features=features, **options)


def _no_option(name: str) -> str:
    known = ", ".join(field.name for field in fields(Options))
    why = _REFUSED.get(name, f"it has {known}")
    return f"kernel() has no option '{name}'; {why}"


def _signature_of(function: Callable[..., Any], signature: Signature | str | None) -> Signature:
    """Return the signature, with name and documentation of the function where it has none."""
    found = Signature.from_function(function) if signature is None else Signature.of(signature)
    name = found.name or function.__name__
    return replace(found, name=name, doc=found.doc or inspect.getdoc(function))
