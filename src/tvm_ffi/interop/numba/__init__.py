# SPDX-License-Identifier: Apache-2.0
"""Numba adapter: Python functions compiled to native functions and libraries without Python.

>>> from tvm_ffi.interop.numba import export_library, kernel
>>> @kernel("scale(x: float32[n], y: out float32[n], a: float = 2.0)")
... def scale(x, y, a):
...     for i in range(x.shape[0]):
...         y[i] = a * x[i]

``scale`` is a `tvm_ffi.Function`: it checks its arguments against the signature, accepts keyword
arguments, and releases the GIL.  ``export_library("k.so", [scale])`` writes it to a library that
programs in any language can load.  The adapter needs Numba: ``pip install 'pytvmffi[numba]'``.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Callable, overload

from ..._binding.call import Function
from ...codegen.llvm import JitModule
from ...codegen.llvm import export_library as export_modules
from ...signature import Signature
from ._compile import Options
from ._module import check_function, module_of_kernel

__all__ = ["export_library", "kernel"]

# Numba options that are not supported, with the reason.
_UNSUPPORTED = {
    "cache": "write the kernel to a library with export_library",
    "forceobj": "Numba's object mode calls Python, but kernels run without Python",
    "nogil": "kernels always release the GIL",
    "parallel": "Numba's threads need its run-time library; loops run on the calling thread",
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
    """Return a decorator that compiles a Python function to a native function.

    ``@kernel`` without parentheses is ``@kernel()``.

    Parameters
    ----------
    signature : Signature or str, optional
        Signature for callers; default: derived from the function's annotations.  The Python
        function has the same parameters, followed by one parameter for each tensor result, to
        which it writes the result.  Tensors arrive as Numba arrays, C-contiguous unless the
        signature declares them ``strided``, and numbers as numbers.  Arrays are read-only unless
        the signature declares them ``out`` or ``inout``.  A function with dtype variables is
        compiled for each combination of dtypes.
    boundscheck : bool
        True to raise IndexError for an index out of bounds; without it, such an access is
        undefined behaviour.
    fastmath : bool
        True to allow reordering of floating-point operations, as Numba's option of this name.
    error_model : {"python", "numpy"}
        Behaviour of a division by zero: ``"python"`` raises ZeroDivisionError, ``"numpy"`` returns
        infinity or NaN.

    Returns
    -------
    callable
        The decorator.  It returns a `tvm_ffi.Function` with the attributes ``py_func``, the Python
        function, and ``module``, the module that contains the native code.  It can be pickled if
        its Python function can: by module and qualified name, or else by the Python function and
        the signature, from which the other process compiles it again.

    Raises
    ------
    TypeError
        If an option is unknown.  The decorator raises TypeError if the function does not match the
        signature, if Numba cannot compile the function, or if the code needs Python or Numba's
        run-time library.
    ValueError
        If the signature cannot be parsed, or has a type that LLVM wrappers do not support.

    Notes
    -----
    Exceptions in the kernel reach the caller with their type and message; the arguments of the
    exception must be constants.  Kernels cannot allocate memory, print or call Python.  Tensor
    results are allocated by the caller's framework.  Loops over ``numba.prange`` run on the calling
    thread.
    """
    if unknown:
        raise TypeError(_no_option(next(iter(unknown))))
    options = Options(boundscheck, fastmath, error_model)
    explicit = None if callable(signature) else signature

    def decorate(function: Callable[..., Any]) -> Function:
        # A dispatcher of Numba contains the Python function as `py_func`.
        python_function = getattr(function, "py_func", function)
        check_function(python_function)
        return _compiled(python_function, _signature_of(python_function, explicit), options)

    return decorate(signature) if callable(signature) else decorate


def _compiled(function: Callable[..., Any], signature: Signature, options: Options) -> Function:
    module = module_of_kernel(function, signature, options)
    native: Function = module.get_function(module.function_names()[0])
    vars(native).update(
        module=module,
        py_func=function,
        __module__=function.__module__,
        # `pickle` reads this attribute from the object, so other functions are not affected.
        __reduce_ex__=partial(_reduce, function, signature, options),
    )
    return native


_compiled_once = lru_cache(maxsize=64)(_compiled)


def compiled_again(
    function: Callable[..., Any], signature: Signature, options: Options
) -> Function:
    """Return the kernel of a pickle that contains a Python function; pickles contain this name."""
    return _compiled_once(function, signature, options)


def _reduce(
    function: Callable[..., Any], signature: Signature, options: Options, _protocol: Any
) -> Any:
    """Return the pickle data of the kernel of a Python function."""
    found: Any = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    if getattr(found, "py_func", None) is function:
        return function.__qualname__  # The attribute of the module is the kernel.
    return compiled_again, (function, signature, options)


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
        Path of the library to write.
    kernels : sequence of Function and JitModule
        Functions that `kernel` returned, or modules of `tvm_ffi.codegen.llvm`, which are written
        with all their functions.
    cpu, features : str, optional
        LLVM's names of the processor and its features to compile for, such as ``"x86-64-v3"``;
        default: the baseline of the architecture.
    **options
        Options of `tvm_ffi.export_library`, which links the library.

    Raises
    ------
    TypeError
        If an element of `kernels` is neither a function made by `kernel` nor a `JitModule`.
    ValueError
        If `kernels` is empty, or two functions have the same name.
    """
    modules = []
    for element in kernels:
        module = getattr(element, "module", element)
        if not isinstance(module, JitModule):
            raise TypeError(
                f"kernels: expected a function made by `kernel`, got {type(element).__name__}"
            )
        if module not in modules:
            modules.append(module)
    return export_modules(path, modules, cpu=cpu, features=features, **options)


def _no_option(name: str) -> str:
    known = ", ".join(field.name for field in fields(Options))
    reason = _UNSUPPORTED.get(name, f"its options are {known}")
    return f"kernel() has no option '{name}'; {reason}"


def _signature_of(function: Callable[..., Any], signature: Signature | str | None) -> Signature:
    """Return the signature of a kernel; take a missing name or documentation from the function."""
    base = Signature.from_function(function) if signature is None else Signature.of(signature)
    name = base.name or function.__name__
    return replace(base, name=name, doc=base.doc or inspect.getdoc(function))
