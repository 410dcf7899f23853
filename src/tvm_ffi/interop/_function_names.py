# SPDX-License-Identifier: Apache-2.0
"""Global names by which compiled programs of JAX and TensorFlow look functions up.

A compiled program cannot hold a reference to a function object.  A function without a global name
is therefore registered under a generated name for the life of the process.  Generated names have a
random part, so a program that another process compiled never finds an unrelated function.
"""

from __future__ import annotations

import secrets
import threading
from typing import Any, Callable, Union

from .._binding.call import declared_signature
from ..core import Function
from ..registry import get_global_func, register_global_func
from ..signature import Signature, TensorType

__all__ = ["PRIVATE_PREFIX", "Target", "display_name", "name_of", "signature_of"]

Target = Union[str, Function, Callable[..., Any]]

PRIVATE_PREFIX = f"tvm_ffi.interop.{secrets.token_hex(8)}."

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
    with _lock:
        if key not in _generated_names:
            short_name = getattr(function, "__name__", None) or "function"
            name = f"{PRIVATE_PREFIX}{len(_generated_names)}.{short_name}"
            register_global_func(name, function)
            _generated_names[key] = name
        return _generated_names[key]


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
