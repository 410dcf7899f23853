# SPDX-License-Identifier: Apache-2.0
"""Global names by which compiled programs of JAX and TensorFlow look functions up.

A compiled program cannot hold a reference to a function object.  A function without a global name
is therefore registered under a generated name for the life of the process.  The name of a module's
function contains a digest of the library, so it is the same in all processes, and persistent caches
of compiled programs are hit.  Other generated names have a random part, so a program that another
process compiled never finds an unrelated function.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from typing import Any, Callable, Union

from .._binding.call import declared_signature
from ..core import Function
from ..module import Module, load_module
from ..registry import get_global_func, register_global_func
from ..signature import Signature, TensorType
from ._file_digest import file_digest

__all__ = ["LIBRARY_PREFIX", "PRIVATE_PREFIX", "Target", "display_name", "name_of", "signature_of"]

Target = Union[str, Function, Callable[..., Any]]

PRIVATE_PREFIX = f"tvm_ffi.interop.{secrets.token_hex(8)}."
LIBRARY_PREFIX = "tvm_ffi.library."  # followed by a digest of the library and the function's name
_DIGITS = 16  # number of hexadecimal digits of the digest

_lock = threading.Lock()
# Generated global names, by Python callable or by the address of a native function.  Registered
# functions are never destroyed, so no other function gets their addresses.
_generated_names: dict[Any, str] = {}


def name_of(target: Target) -> str:
    """Return the global name of a function; register it under a generated name if it has none.

    Parameters
    ----------
    target : str, Function or callable
        A global name, a native function or a Python callable.

    Raises
    ------
    ValueError
        If `target` is a str and no global function has this name.
    TypeError
        If `target` is neither a str nor callable.
    """
    if isinstance(target, str):
        get_global_func(target)  # raises ValueError if no global function has the name
        return target
    if not callable(target):
        raise TypeError(
            "function: expected a global name, a Function or a callable, got "
            f"{type(target).__name__}"
        )
    if not isinstance(target, Function):
        return _generated_name(target, target)
    name = getattr(target, "__name__", "")
    if isinstance(name, str) and name and get_global_func(name, allow_missing=True) == target:
        return name
    return _generated_name(target.__chandle__(), target)


def _generated_name(key: Any, function: Callable[..., Any]) -> str:
    known = _generated_names.get(key)
    if known is not None:
        return known
    stable_name = _name_in_library(function) if isinstance(function, Function) else None
    with _lock:
        if key not in _generated_names:
            name = stable_name
            # Another copy of the library, with its own state, may have the name already.
            if name is None or get_global_func(name, allow_missing=True) is not None:
                short_name = getattr(function, "__name__", None) or "function"
                name = f"{PRIVATE_PREFIX}{len(_generated_names)}.{short_name}"
            register_global_func(name, function)
            _generated_names[key] = name
        return _generated_names[key]


def _name_in_library(function: Function) -> str | None:
    """Return a name with a digest of the function's library; None if the library is unknown."""
    try:
        _, (module, name, *_) = function.__reduce__()
        digest = _digest_of(module) if isinstance(module, Module) else None
    except (TypeError, ValueError, OSError):  # the function or its module cannot be pickled or read
        return None
    return None if digest is None else f"{LIBRARY_PREFIX}{digest}.{name}"


def _digest_of(module: Module) -> str | None:
    """Return a digest of the code of a module; None if functions may be in other modules."""
    if module.kind == "llvm":
        return hashlib.sha256(module.inspect_source().encode()).hexdigest()[:_DIGITS]
    _, (load, path, changed_imports) = module.__reduce__()
    if load is not load_module or changed_imports is not None:
        return None
    return file_digest(path)[:_DIGITS]


def display_name(function: Target) -> str:
    """Return a function's name for error messages."""
    name = function if isinstance(function, str) else getattr(function, "__name__", None)
    return repr(name) if name else str(function)


def signature_of(target: Target) -> Signature | None:
    """Return the declared signature of a function, or None if it does not declare one."""
    if isinstance(target, str):
        return declared_signature(get_global_func(target))
    if isinstance(target, Function):
        return declared_signature(target)
    try:
        signature = Signature.from_function(target)
    except (TypeError, ValueError):  # an annotation is not a type of the signature language
        return None
    return signature if _describes_tensors(signature) else None


def _describes_tensors(signature: Signature) -> bool:
    """Return True if a parameter or result of the signature is a tensor."""
    types = [p.type for p in signature.parameters] + [r.type for r in signature.results]
    return any(isinstance(type_, TensorType) for type_ in types)
