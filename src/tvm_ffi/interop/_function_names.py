# SPDX-License-Identifier: Apache-2.0
"""Functions in the texts of compiled programs: the name by which a program finds a function.

A program holds no reference, so a function without a global name gets one, for as long as the
process lives.  Such a name means nothing in another process, and is never that of another function
there: it has a part that is drawn by chance.
"""

from __future__ import annotations

import secrets
import threading
from typing import Any, Callable, Union

from .._binding.call.planned_call import declared_signature
from ..core import Function, convert_func
from ..registry import get_global_func, register_global_func
from ..signature import Signature, TensorType

__all__ = ["PRIVATE_PREFIX", "Target", "find_target", "name_of", "signature_of"]

Target = Union[str, Function, Callable[..., Any]]

PRIVATE_PREFIX = f"tvm_ffi.interop.{secrets.token_hex(8)}."

_lock = threading.Lock()
_converted: dict[Callable[..., Any], Function] = {}
_names: dict[int, str] = {}  # by the address of the native function, which its name keeps alive


def find_target(target: Target) -> Function:
    """Return the function that somebody means.

    Parameters
    ----------
    target : str, Function or callable
        A global name, a function of a module or any other, or a function written in Python.

    Raises
    ------
    ValueError
        If no global function has the name.
    TypeError
        If it is something else.
    """
    if isinstance(target, str):
        return get_global_func(target)
    if isinstance(target, Function):
        return target
    if not callable(target):
        raise TypeError(
            f"a function is a global name, a Function or a callable, got {type(target).__name__}"
        )
    with _lock:
        if target not in _converted:
            _converted[target] = convert_func(target)
        return _converted[target]


def name_of(target: Target) -> str:
    """Return the global name of a function, which it gets here if it has none."""
    function = find_target(target)
    if isinstance(target, str):
        return target
    own = getattr(function, "__name__", "")
    if isinstance(own, str) and own and get_global_func(own, allow_missing=True) == function:
        return own
    address = function.__chandle__()
    with _lock:
        if address not in _names:
            name = f"{PRIVATE_PREFIX}{len(_names)}.{own or 'function'}"
            register_global_func(name, function)
            _names[address] = name
        return _names[address]


def signature_of(target: Target) -> Signature | None:
    """Return the signature of a function; None where nobody has said it."""
    if isinstance(target, (str, Function)):
        return declared_signature(find_target(target))
    try:
        signature = Signature.from_function(target)
    except (TypeError, ValueError):  # annotations that mean something else
        return None
    return signature if _says_tensors(signature) else None


def _says_tensors(signature: Signature) -> bool:
    """Whether a Python function's annotations were written for us: most functions have none."""
    types = [parameter.type for parameter in signature.parameters]
    types += [result.type for result in signature.results]
    return any(isinstance(type_, TensorType) for type_ in types)
