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

from .._binding.call import declared_signature
from ..core import Function
from ..registry import get_global_func, register_global_func
from ..signature import Signature, TensorType

__all__ = ["PRIVATE_PREFIX", "Target", "name_of", "shown", "signature_of"]

Target = Union[str, Function, Callable[..., Any]]

PRIVATE_PREFIX = f"tvm_ffi.interop.{secrets.token_hex(8)}."

_lock = threading.Lock()
# Names that were given here, by Python function or by the address of a native one; functions that
# have a name stay alive, so that no other one gets the address.
_given: dict[Any, str] = {}


def name_of(target: Target) -> str:
    """Return the global name of a function, which it gets here if it has none.

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
        get_global_func(target)  # which raises if there is none
        return target
    if not callable(target):
        raise TypeError(
            f"a function is a global name, a Function or a callable, got {type(target).__name__}"
        )
    if not isinstance(target, Function):
        return _given_name(target, target)
    own = getattr(target, "__name__", "")
    if isinstance(own, str) and own and get_global_func(own, allow_missing=True) == target:
        return own
    return _given_name(target.__chandle__(), target)


def _given_name(key: Any, function: Callable[..., Any]) -> str:
    with _lock:
        if key not in _given:
            own = getattr(function, "__name__", None) or "function"
            name = f"{PRIVATE_PREFIX}{len(_given)}.{own}"
            register_global_func(name, function)
            _given[key] = name
        return _given[key]


def shown(function: Target) -> str:
    """Return how errors call a function."""
    name = function if isinstance(function, str) else getattr(function, "__name__", None)
    return repr(name) if name else str(function)


def signature_of(target: Target) -> Signature | None:
    """Return the signature of a function; None where nobody has said it."""
    if isinstance(target, str):
        return declared_signature(get_global_func(target))
    if isinstance(target, Function):
        return declared_signature(target)
    try:
        signature = Signature.from_function(target)
    except (TypeError, ValueError):  # annotations that mean something else
        return None
    return signature if _describes_tensors(signature) else None


def _describes_tensors(signature: Signature) -> bool:
    """Whether annotations are those of a kernel, rather than none or any others."""
    types = [p.type for p in signature.parameters] + [r.type for r in signature.results]
    return any(isinstance(type_, TensorType) for type_ in types)
