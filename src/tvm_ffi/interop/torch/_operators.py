# SPDX-License-Identifier: Apache-2.0
"""Operators of torch for functions with a signature, made when a program that uses them is traced.

A function has one operator, whoever asks and however often.  Its name begins with those of library
and function and ends with a digest of the signature: caches of compiled programs and programs that
are saved know operators by name, so another signature needs another name.

Operators stay for the life of the process, as programs that call them do, and keep their function.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Callable

import torch

from ..._binding.call import Function
from ...signature import Signature
from ._dispatcher_kernels import kernel_of
from ._fake import fake_of, unknown_result
from ._locator import Place, place_of
from ._schema import NoSchemaError, schema_text, writes

__all__ = [
    "NAMESPACE",
    "Operator",
    "UntraceableError",
    "define",
    "forget",
    "operator_named",
    "operator_of",
    "remember",
    "restore",
    "traced_operator",
]

NAMESPACE = "tvm_ffi"
_DIGITS = 8  # of a digest; names of one library and function have to differ
_TAGS = (torch.Tag.pt2_compliant_tag, torch.Tag.needs_exact_strides)

_lock = threading.RLock()
_by_identity: dict[Hashable, Operator] = {}
_by_name: dict[str, Operator] = {}


class UntraceableError(TypeError):
    """A function of which nobody knows enough to trace a program that calls it."""


@dataclass(frozen=True, eq=False)
class Operator:
    """An operator and what it was made for.

    Parameters
    ----------
    overload : torch._ops.OpOverload
        What programs call.
    function : Function
        What it calls.
    signature : Signature
        What its schema was made from.
    place : Place, optional
        Where the function was found.
    library : torch.library.Library
        Holds the registration: without it, the operator is gone.
    has_rules : bool
        Whether somebody has said what transforms of `torch.func` do to it.
    """

    overload: Any
    function: Function
    signature: Signature
    place: Place | None
    library: torch.library.Library
    has_rules: bool = False

    @property
    def name(self) -> str:
        """The name with its namespace: ``ns::f``."""
        return str(self.overload.name()).partition(".")[0]

    @property
    def short_name(self) -> str:
        """The name without its namespace."""
        return self.name.partition("::")[2]


def operator_of(function: Function) -> Any:
    """Return the operator that programs call in place of a function.

    Parameters
    ----------
    function : Function
        A function with a signature; or one that `register` was given.

    Returns
    -------
    torch._ops.OpOverload
        ``torch.ops.tvm_ffi.<library>_<function>_<digest>.default``; the same for all wrappers of
        the function, and for all that ask.

    Raises
    ------
    UntraceableError
        If the signature is missing, or does not tell all that torch needs to know; the message says
        what, and what to do.

    Notes
    -----
    Threads: any.
    """
    return traced_operator(function).overload


def traced_operator(function: Function) -> Operator:
    """Return the same with what it was made for."""
    place = place_of(function)
    name = place.name if place is not None else "a function without a name"
    signature = None if place is None else place.signature()
    if place is None or signature is None:
        raise UntraceableError(
            f"`{name}` has no signature, so nobody knows its tensors while a program is traced: "
            "give it one (Module.describe), or make an operator of it "
            "(tvm_ffi.interop.torch.register)"
        )
    identity = (place.identity, str(signature))
    with _lock:
        known = _by_identity.get(place.identity) or _by_identity.get(identity)
        if known is None:
            known = _make(function, signature, place)
            _by_identity[identity] = known
        return known


def operator_named(name: str) -> Operator | None:
    """Return an operator of ours by its name, ``ns::f``."""
    return _by_name.get(name)


def remember(operator: Operator) -> None:
    """Let programs that call a function call this operator, whatever its signature says."""
    if operator.place is not None:
        with _lock:
            _by_identity[operator.place.identity] = operator


def restore(name: str, function: Function, signature: Signature) -> None:
    """Make the operator again that another process had under a name.

    Raises
    ------
    ValueError
        If the function has another signature by now.
    """
    place = place_of(function)
    now = None if place is None else place.signature()
    if now is not None and str(now) != str(signature):
        raise ValueError(f"its signature was `{signature}`, and is `{now}`")
    made = define(name, schema_text(signature), function, signature, place)
    if place is not None:
        with _lock:
            _by_identity.setdefault((place.identity, str(signature)), made)


def forget(operator: Operator) -> None:
    """Undo what `define` has done, as far as nobody calls the operator."""
    with _lock:
        _by_name.pop(operator.name, None)
        for identity in [key for key, one in _by_identity.items() if one is operator]:
            del _by_identity[identity]


def _make(function: Function, signature: Signature, place: Place) -> Operator:
    reason = unknown_result(signature) or _no_effect(signature)
    try:
        schema = schema_text(signature)
    except NoSchemaError as error:
        reason = str(error)
    if reason is not None:
        raise UntraceableError(
            f"`{place.name}` cannot be traced: {reason}; make an operator of it that says so "
            f"(tvm_ffi.interop.torch.register). Its signature is `{signature}`"
        )
    name = _unused(f"{NAMESPACE}::{_name_of(place, signature)}")
    made = _adopt(name, function, signature, place) or define(
        name, schema, function, signature, place
    )
    # As where nobody traces: a result is a new tensor that nothing is derived through.
    made.library.impl(made.short_name, torch.library.fallthrough_kernel, "Autograd")
    return made


def _adopt(name: str, function: Function, signature: Signature, place: Place) -> Operator | None:
    """Return the operator that a library in C++ has registered under a name, if one has."""
    namespace, _, short_name = name.partition("::")
    if not hasattr(getattr(torch.ops, namespace), short_name):
        return None
    library = torch.library.Library(namespace, "FRAGMENT")
    torch.library.register_fake(name, fake_of(signature), lib=library)
    overload = getattr(getattr(torch.ops, namespace), short_name).default
    made = _by_name[name] = Operator(overload, function, signature, place, library)
    return made


def _no_effect(signature: Signature) -> str | None:
    if signature.results or any(map(writes, signature.parameters)):
        return None
    return "it returns nothing and writes nothing, and torch leaves such calls out"


def _name_of(place: Place, signature: Signature) -> str:
    digest = hashlib.sha256(str(signature).encode()).hexdigest()[:_DIGITS]
    return re.sub(r"\W", "_", f"{place.stem}_{place.name}_{digest}", flags=re.ASCII)


def _unused(name: str) -> str:
    """Return a name that no operator has: two libraries may have one file name."""
    number, candidate = 1, name
    while candidate in _by_name:
        number += 1
        candidate = f"{name}_{number}"
    return candidate


def define(
    name: str,
    schema: str,
    function: Function,
    signature: Signature,
    place: Place | None,
    *,
    kernel: Callable[..., Any] | None = None,
    fake: Callable[..., Any] | None = None,
    devices: tuple[str, ...] = (),
    has_rules: bool = False,
) -> Operator:
    """Make an operator that calls a function.

    Parameters
    ----------
    name : str
        With its namespace, ``ns::f``.
    schema : str
        Parameters and results.
    kernel : callable, optional
        What calls the function, where that is not the function itself.
    fake : callable, optional
        What stands in for it while programs are traced, where the signature does not say it.
    devices : tuple of str
        Types of devices that it is for; none for all.
    has_rules : bool
        Whether transforms of `torch.func` are going to know what to do with it.

    Raises
    ------
    ValueError
        If there is an operator of this name.
    """
    namespace, _, short_name = name.partition("::")
    with _lock:
        if name in _by_name:
            raise ValueError(f"operator {name} is there already, for `{_by_name[name].signature}`")
        if hasattr(getattr(torch.ops, namespace), short_name):
            raise ValueError(f"torch has an operator {name} already")
        library = torch.library.Library(namespace, "FRAGMENT")
        library.define(f"{short_name}{schema}", tags=_TAGS)
        call = kernel or kernel_of(function, signature)
        if devices:
            for device in devices:
                library.impl(short_name, call, device.upper())  # keys are called like devices
        else:
            library.impl(short_name, call, "CompositeExplicitAutograd")
        torch.library.register_fake(name, fake or fake_of(signature), lib=library)
        overload = getattr(getattr(torch.ops, namespace), short_name).default
        made = Operator(overload, function, signature, place, library, has_rules)
        _by_name[name] = made
        return made
