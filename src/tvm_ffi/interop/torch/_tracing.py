# SPDX-License-Identifier: Apache-2.0
"""What torch.compile sees in place of functions: a call of an operator.

Dynamo is told what to trace instead of the native call, which it cannot look into, by
`torch.compiler.substitute_in_graph`.  It traces `call_operator`: which operator that is, is
found while the program is traced and guarded by the identity of the function.  Programs that are
not traced never come here.
"""

from __future__ import annotations

import functools
import re
from typing import Any, Callable, TypeVar

import torch

from ..._binding.call import Function, function_of_module
from ..._binding.object import CObject
from ...module import Module
from ...signature import EMPTY, Parameter, Signature, ValueType
from ._operators import Operator, UntraceableError, traced_operator

__all__ = ["trace_functions"]


# What is computed while a program is traced, guarded by the identity of the arguments.
_ConstantT = TypeVar("_ConstantT", bound=Callable[..., Any])
_constant: Callable[[_ConstantT], _ConstantT] = torch.compiler.assume_constant_result


class _Namespace:
    """Attributes that programs which are traced read: each is guarded by itself."""


_calls = _Namespace()
_found = _Namespace()


@functools.cache  # torch refuses a second time
def trace_functions() -> None:
    """Let torch.compile trace calls of functions, and their look-up in modules."""
    stand_in: Any = torch.compiler.substitute_in_graph
    stand_in(Function.__call__, skip_signature_check=True)(call_operator)
    stand_in(function_of_module, skip_signature_check=True)(find_function)
    stand_in(CObject.__chandle__, skip_signature_check=True)(find_address)


# ---- calls ---------------------------------------------------------------------------------------


def call_operator(self: Function, /, *args: Any, **kwargs: Any) -> Any:
    """Traced in place of ``Function.__call__``."""
    reason = _why_not(self)
    if reason:
        torch._dynamo.graph_break(msg=reason)
    return getattr(_calls, _prepare(self))(*args, **kwargs)


@_constant
def _why_not(function: Function) -> str:
    """Return why a call cannot be traced; empty where it can."""
    try:
        operator = traced_operator(function)
    except UntraceableError as error:
        return str(error)
    if not operator.has_rules and torch._C._functorch.peek_interpreter_stack() is not None:
        return (
            f"`{operator.signature.name}` has no derivative and no rule for vmap, and is called "
            "inside a transform of torch.func: make an operator of it that has "
            "(tvm_ffi.interop.torch.register)"
        )
    return ""


@_constant
def _prepare(function: Function) -> str:
    """Return the name in `_calls` under which the operator of a function is called."""
    operator = traced_operator(function)
    name = re.sub(r"\W", "_", operator.name)
    if not hasattr(_calls, name):
        setattr(_calls, name, _call_of(operator))
    return name


def _call_of(operator: Operator) -> Callable[..., Any]:
    """Return a Python function with the parameters of the signature, which calls the operator."""
    signature = operator.signature
    name = signature.name.replace("::", ".").rpartition(".")[2] or "function"
    text = f"def {name}({_parameters(signature)}):\n    return {_OPERATOR}({_passed(signature)})\n"
    namespace: dict[str, Any] = {_OPERATOR: operator.overload}
    exec(compile(text, f"<signature of {name}>", "exec"), namespace)  # made of identifiers alone
    call: Any = namespace[name]
    call.__defaults__ = tuple(
        _default_of(one) for one in signature.parameters if one.kind in _BY_POSITION and _has(one)
    )
    call.__kwdefaults__ = {
        one.name: _default_of(one)
        for one in signature.parameters
        if one.kind == "keyword-only" and _has(one)
    }
    checked: Callable[..., Any] = call
    return checked


_OPERATOR = "__operator"
_BY_POSITION = ("positional-only", "positional")


def _has(parameter: Parameter) -> bool:
    return parameter.default is not EMPTY


def _parameters(signature: Signature) -> str:
    """Return the parameters as a ``def`` has them; the values of defaults are set later."""
    kinds = [one.kind for one in signature.parameters]
    parts = []
    for place, parameter in enumerate(signature.parameters):
        if parameter.kind == "keyword-only" and "keyword-only" not in kinds[:place]:
            parts += [] if "variadic" in kinds else ["*"]
        star = "*" if parameter.kind == "variadic" else ""
        parts.append(f"{star}{parameter.name}{'=None' if _has(parameter) else ''}")
        if parameter.kind == "positional-only" and "positional-only" not in kinds[place + 1 :]:
            parts.append("/")
    return ", ".join(parts)


def _passed(signature: Signature) -> str:
    """Return the arguments of the operator's call, which gets a variadic parameter's as a list."""
    words = {"variadic": "list({0})", "keyword-only": "{0}={0}"}
    return ", ".join(words.get(one.kind, "{0}").format(one.name) for one in signature.parameters)


def _default_of(parameter: Parameter) -> Any:
    default = parameter.default
    if isinstance(default, str) and _is_dtype(parameter):
        return getattr(torch, default)
    return list(default) if isinstance(default, tuple) else default


def _is_dtype(parameter: Parameter) -> bool:
    type_ = parameter.type
    return isinstance(type_, ValueType) and "dtype" in (
        type_.schema.origin,
        *(one.origin for one in type_.schema.args or ()),
    )


# ---- functions of modules ------------------------------------------------------------------------


def find_function(module: Module, name: str, query_imports: bool) -> Any:
    """Traced in place of the look-up of a module's function."""
    key = _find(module, name, query_imports)
    if not key:
        raise AttributeError(_why_missing(module, name, query_imports))
    return getattr(_found, key)


@_constant
def _find(module: Module, name: str, query_imports: bool) -> str:
    """Return the name in `_found` of a module's function; empty where there is none."""
    function = function_of_module(module, name, query_imports)
    if function is None:
        return ""
    key = f"_{module.__chandle__()}_{name}"
    if not hasattr(_found, key):
        setattr(_found, key, function)
    return key


@_constant
def _why_missing(module: Module, name: str, query_imports: bool) -> str:
    try:
        module.get_function(name, query_imports)
    except AttributeError as error:
        return str(error)
    return f"Module has no function '{name}'"  # until now


def find_address(self: CObject) -> int:
    """Traced in place of ``Object.__chandle__``."""
    return _address(self)


@_constant
def _address(value: CObject) -> int:
    address: int = value.__chandle__()
    return address
