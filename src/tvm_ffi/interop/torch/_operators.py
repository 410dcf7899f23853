# SPDX-License-Identifier: Apache-2.0
"""Torch operators of functions, created when a program that calls the function is traced.

Each function has one operator.  Saved programs and caches of compiled programs refer to operators
by name, so a name stands for one function in all processes: it consists of the names of the library
and the function and a digest of the library's content, the function's name and the signature.

Operators exist for the life of the process, like the programs that call them, and keep their
functions alive.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import secrets
import threading
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Callable

import torch

from ..._binding.call import Function
from ...module import load_module
from ...registry import get_global_func
from ...signature import Signature
from ._dispatcher_kernels import kernel_of, reject_nested_tensors
from ._fake import fake_kernel_of, unknown_result_reason
from ._locator import FunctionLocator, content_of_file, locate
from ._native_kernels import Plan, add_kernels, by_position, plan_of
from ._schema import NoSchemaError, may_write, schema_text

__all__ = [
    "NAMESPACE",
    "Operator",
    "UntraceableError",
    "define",
    "describe",
    "function_label",
    "missing_effect",
    "operator_named",
    "operator_of",
    "restore",
    "set_operator_of_function",
    "traced_operator",
    "undefine",
]

NAMESPACE = "tvm_ffi"
_DIGITS = 16  # number of hexadecimal digits of the digest in an operator's name
# Replaces the content of a function that other processes cannot find, in the operator's name.
_THIS_PROCESS = secrets.token_hex(16)
_TAGS = (torch.Tag.pt2_compliant_tag, torch.Tag.needs_exact_strides)

_lock = threading.RLock()
_by_identity: dict[Hashable, Operator] = {}
_by_name: dict[str, Operator] = {}


class UntraceableError(TypeError):
    """A program cannot be traced, because a function's signature is missing or insufficient."""


@dataclass(frozen=True, eq=False)
class Operator:
    """A torch operator and the function that it calls.

    Parameters
    ----------
    overload : torch._ops.OpOverload
        The operator that programs call.
    function : Function
        The function that the operator calls.
    signature : Signature
        Signature that determines the operator's schema.
    locator : FunctionLocator, optional
        Origin of the function; None if it is unknown.
    library : torch.library.Library
        Owner of the operator's registration, which ends when the library is destroyed.
    has_rules : bool
        True if the operator has rules for the transforms of `torch.func`.
    plan : Plan, optional
        Plan of kernels in C++; None if the operator has Python kernels only.
    content : str, optional
        `FunctionLocator.content` at the time when the operator was created.
    kernel : callable, optional
        The Python kernel, which takes all arguments by position.
    kernels : list
        Owners of registered kernels in C++.
    """

    overload: Any
    function: Function
    signature: Signature
    locator: FunctionLocator | None
    library: torch.library.Library
    has_rules: bool = False
    plan: Plan | None = None
    content: str | None = None
    kernel: Callable[..., Any] | None = None
    kernels: list[Any] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The operator's name with its namespace: ``ns::f``."""
        return str(self.overload.name()).partition(".")[0]

    def add_kernels(
        self,
        autograd: Callable[..., Any],
        new_apply: Callable[[], Callable[..., Any]] | None = None,
        autograd_key: str = "Autograd",
    ) -> bool:
        """Register a kernel in C++ before the backend's kernel; return False if that is impossible.

        The parameters are those of `_native_kernels.add_kernels`, except that `new_apply` returns
        `apply`.
        """
        if self.plan is None or self.kernel is None or self.plan.has_symbols:
            return False
        owner = add_kernels(
            *(self.name, self.plan, self.function, self.kernel),
            autograd=autograd,
            autograd_key=autograd_key,
            apply=new_apply and new_apply(),
        )
        self.kernels.append(owner)
        return owner is not None

    @property
    def short_name(self) -> str:
        """The operator's name without its namespace."""
        return self.name.partition("::")[2]


def operator_of(function: Function) -> Any:
    """Return the operator that traced programs call for a function.

    Parameters
    ----------
    function : Function
        A function with a signature, or one that was passed to `register`.

    Returns
    -------
    torch._ops.OpOverload
        ``torch.ops.tvm_ffi.<library>_<function>_<digest>.default``; the same object for all Python
        wrappers of the function.  The digest is that of the library's content, the function's name
        and the signature, so the name stands for the same function in all processes.

    Raises
    ------
    UntraceableError
        If the signature is missing, or insufficient for torch; the message gives the reason and a
        remedy.

    Notes
    -----
    Threads: any.
    """
    return traced_operator(function).overload


def traced_operator(function: Function) -> Operator:
    """Return the `Operator` of a function; create the operator on first use."""
    locator = locate(function)
    name = locator.name if locator is not None else "a function without a name"
    signature = None if locator is None else locator.signature()
    if locator is None or signature is None:
        raise UntraceableError(
            f"`{name}` has no signature, which tracing needs; add one with Module.describe, or "
            "create an operator with tvm_ffi.interop.torch.register"
        )
    identity = (locator.identity, str(signature))
    with _lock:
        known = _by_identity.get(locator.identity) or _by_identity.get(identity)
        if known is None:
            known = _make(function, signature, locator)
            _by_identity[identity] = known
        return known


def operator_named(name: str) -> Operator | None:
    """Return the `Operator` of the name ``ns::f``, or None if this module did not create it."""
    return _by_name.get(name)


def set_operator_of_function(operator: Operator) -> None:
    """Make this operator the one that traced programs call for its function."""
    if operator.locator is not None:
        with _lock:
            _by_identity[operator.locator.identity] = operator


def undefine(operator: Operator) -> None:
    """Remove an operator from this module's tables, so that torch can drop its registration."""
    with _lock:
        _by_name.pop(operator.name, None)
        for identity in [key for key, other in _by_identity.items() if other is operator]:
            del _by_identity[identity]


def _make(function: Function, signature: Signature, locator: FunctionLocator) -> Operator:
    reason = unknown_result_reason(signature) or missing_effect(signature)
    try:
        schema = schema_text(signature)
    except NoSchemaError as error:
        reason = str(error)
    if reason is not None:
        raise UntraceableError(
            f"`{locator.name}` cannot be traced: {reason}; create an operator with "
            f"tvm_ffi.interop.torch.register. The signature is `{signature}`"
        )
    name = f"{NAMESPACE}::{_name_of(locator, signature)}"
    known = _by_name.get(name)
    if locator.library and known is not None and known.locator is not None:
        is_same = known.locator.library == locator.library
        if is_same:  # Another module object has the same library.
            return known
    name = _unused(name)
    operator = _adopt(name, schema, function, signature, locator) or define(
        *(name, schema, function, signature, locator),
        plan=plan_of(function, signature, signature),
    )
    # Skip autograd: as in eager calls, the results of the operator have no gradient function.
    operator.library.impl(operator.short_name, torch.library.fallthrough_kernel, "Autograd")
    return operator


def _adopt(
    name: str, schema: str, function: Function, signature: Signature, locator: FunctionLocator
) -> Operator | None:
    """Return the operator that a C++ library registered under a name, or None if none did."""
    namespace, _, short_name = name.partition("::")
    if not hasattr(getattr(torch.ops, namespace), short_name):
        return None
    overload = getattr(getattr(torch.ops, namespace), short_name).default
    expected = torch._C.parse_schema(f"{name}{schema}")
    if overload._schema != expected:
        raise ValueError(
            f"operator {name}: expected the schema `{expected}` of {locator}, got `"
            f"{overload._schema}` from a library that is loaded; generate that library again with "
            "tvm_ffi.interop.torch.operators_source"
        )
    library = torch.library.Library(namespace, "FRAGMENT")
    torch.library.register_fake(name, fake_kernel_of(signature), lib=library)
    content = locator.content
    return _keep(Operator(overload, function, signature, locator, library, content=content))


def _keep(operator: Operator) -> Operator:
    """Add an operator to this module's table, and let it be pickled."""
    _by_name[operator.name] = operator
    # pickle looks the method up in the object; torch's class for operators has none.
    operator.overload.__reduce_ex__ = functools.partial(_reduce, operator.name)
    return operator


def missing_effect(signature: Signature) -> str | None:
    """Return the reason why an operator would have no effect; None if it has one."""
    if signature.results or any(map(may_write, signature.parameters)):
        return None
    return (
        "the function has no results and writes no argument, and torch removes such calls; if it "
        "writes a tensor, declare the parameter as `out` or `inout` in the signature"
    )


def _name_of(locator: FunctionLocator, signature: Signature) -> str:
    parts = (locator.stem, locator.name, _digest_of(locator, signature))
    return re.sub(r"\W", "_", "_".join(parts), flags=re.ASCII)


def _digest_of(locator: FunctionLocator, signature: Signature) -> str:
    """Return the part of an operator's name that is different for another function."""
    content = locator.content
    parts = (_THIS_PROCESS if content is None else content, locator.name, str(signature))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:_DIGITS]


def _unused(name: str) -> str:
    """Return an unused operator name: `name`, with a number if an operator has it already.

    Copies of one library have equal content, but each copy has its own variables.
    """
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
    locator: FunctionLocator | None,
    *,
    kernel: Callable[..., Any] | None = None,
    fake: Callable[..., Any] | None = None,
    devices: tuple[str, ...] = (),
    has_rules: bool = False,
    plan: Plan | None = None,
) -> Operator:
    """Define a torch operator that calls a function, and return it.

    Parameters
    ----------
    name : str
        The operator's name with its namespace, ``ns::f``.
    schema : str
        Parameters and results in torch's schema language.
    kernel : callable, optional
        Dispatcher kernel; default: one that calls `function`.
    fake : callable, optional
        Fake kernel; default: derived from the signature.
    devices : tuple of str
        Device types that the kernel supports; empty for all.
    has_rules : bool
        True if the caller adds rules for the transforms of `torch.func`.
    plan : Plan, optional
        Plan of a kernel in C++ that calls a function of a library.

    Raises
    ------
    ValueError
        If an operator with this name exists.
    """
    namespace, _, short_name = name.partition("::")
    with _lock:
        if name in _by_name:
            raise ValueError(f"operator {name} exists already, for `{_by_name[name].signature}`")
        if hasattr(getattr(torch.ops, namespace), short_name):
            raise ValueError(f"operator {name} exists already in torch")
        library = torch.library.Library(namespace, "FRAGMENT")
        library.define(f"{short_name}{schema}", tags=_TAGS)
        call = kernel or kernel_of(function, signature)
        # torch's dispatch key of a device is the upper-case name of the device type.
        keys = [device.upper() for device in devices] or ["CompositeExplicitAutograd"]
        if locator is None or not locator.library:
            plan = None  # Python code needs torch tensors, which only the Python kernel passes.
        positional = by_position(call, signature)
        owner = plan and add_kernels(name, plan, function, positional, keys=keys)
        if owner is None:
            plan = None
            for key in keys:
                library.impl(short_name, call, key)
        torch.library.register_fake(name, fake or fake_kernel_of(signature), lib=library)
        reject_nested_tensors(name, signature, library)
        overload = getattr(getattr(torch.ops, namespace), short_name).default
        return _keep(
            Operator(
                *(overload, function, signature, locator, library, has_rules),
                plan=plan,
                content=None if locator is None else locator.content,
                kernel=positional,
                kernels=[owner],
            )
        )


# ---- operators in files and pickles --------------------------------------------------------------


def describe(operator: Operator) -> dict[str, Any]:
    """Return the JSON object of an operator, from which `restore` creates the operator again."""
    locator, is_registered = operator.locator, not operator.name.startswith(f"{NAMESPACE}::")
    content = operator.content
    if locator is not None and content is None and locator.is_file_replaced:
        raise TypeError(
            f"cannot save {operator.name}, which calls {locator}; restart the process, so that it "
            "loads the file that other processes find"
        )
    if locator is None or (content is None and not is_registered):
        raise TypeError(
            f"cannot save {operator.name}, whose function exists only in this process; use a "
            "function of a library, or register it under a global name"
        )
    return {
        "library": locator.library,
        "content": content,
        "function": locator.name,
        "signature": str(operator.signature),
        "is_registered": is_registered,
    }


def function_label(description: Mapping[str, Any]) -> str:
    """Return the name and the library of a described function, for messages."""
    function, library = description.get("function"), description.get("library")
    return f"function '{function}' of {library}" if library else f"global function '{function}'"


def restore(
    name: str, description: Mapping[str, Any], libraries: Mapping[str, str | os.PathLike[str]]
) -> None:
    """Create the operator of a description, or compare the description with the existing one.

    Parameters
    ----------
    name : str
        The operator's name in the file.
    description : mapping
        Result of `describe` in the process that wrote the file.
    libraries : mapping of str to str or os.PathLike
        Current paths of libraries, by the saved path or by the file name alone.

    Raises
    ------
    OSError, AttributeError, RuntimeError, ValueError
        If the function is missing, or is not the one that the operator was made from.
    """
    saved_path = description["library"]
    path = os.fspath(
        libraries.get(saved_path) or libraries.get(PurePath(saved_path).name) or saved_path
    )
    operator = operator_named(name)
    if path and (operator is None or path != saved_path):
        _check_content(path, description)
    if operator is not None:
        _check_same(operator, description)
        return
    if description["is_registered"]:
        raise RuntimeError(
            "expected an operator that tvm_ffi.interop.torch.register has created in this "
            "process; import the module that calls register first"
        )
    if path:
        function = load_module(path).get_function(description["function"], True)
    else:
        function = get_global_func(description["function"])
    _restore_operator(name, function, Signature.parse(description["signature"]))


def _check_content(path: str, description: Mapping[str, Any]) -> None:
    """Raise ValueError if a library is not the one that the program was saved with.

    A file that cannot be read has no content; loading it raises the error that gives the reason.
    """
    content, saved = content_of_file(path), description["content"]
    if content is not None and content != saved:
        raise ValueError(
            f"expected the library that the program was saved with (sha256 {saved:.16}), got "
            f"{path} (sha256 {content:.16}); pass that library as libraries=, or export the "
            "program again"
        )


def _check_same(operator: Operator, description: Mapping[str, Any]) -> None:
    """Raise ValueError if the operator that has a saved name was made from another function."""
    current = describe(operator)
    if any(current[key] != description[key] for key in ("content", "function", "signature")):
        content = description["content"]
        digest = f" (sha256 {content:.16})" if content else ""
        raise ValueError(
            f"expected {function_label(description)}{digest} with the signature "
            f"`{description['signature']}`, but this process has an operator of this name for "
            f"{operator.locator} with the signature `{operator.signature}`; load the program in "
            "another process, or export it again"
        )


def _restore_operator(name: str, function: Function, signature: Signature) -> None:
    """Create the operator that a saved program calls under this name.

    Raises
    ------
    ValueError
        If the function's signature has changed since the program was saved, or if the name is that
        of another function.
    """
    locator = locate(function)
    current = None if locator is None else locator.signature()
    if current is not None and str(current) != str(signature):
        raise ValueError(
            f"expected the saved signature `{signature}`, got the signature `{current}`; export "
            "the program again"
        )
    digest = None if locator is None else _digest_of(locator, signature)
    if digest is None or re.search(rf"_{digest}(_\d+)?$", name) is None:
        raise ValueError(
            f"expected the function that {name} stands for, got {locator or 'another function'} "
            f"with the signature `{signature}` and the digest {digest}; export the program again"
        )
    plan = plan_of(function, signature, signature)
    operator = define(name, schema_text(signature), function, signature, locator, plan=plan)
    if locator is not None:
        with _lock:
            _by_identity.setdefault((locator.identity, str(signature)), operator)


def _reduce(name: str, _: int) -> tuple[Any, ...]:
    return _unpickled, (name, describe(_by_name[name]))


def _unpickled(name: str, description: Mapping[str, Any]) -> Any:
    restore(name, description, {})
    return _by_name[name].overload
