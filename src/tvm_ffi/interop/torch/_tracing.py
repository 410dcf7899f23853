# SPDX-License-Identifier: Apache-2.0
"""Tracing of function calls by torch.compile: each call becomes a call of a torch operator.

Dynamo, the tracer of torch.compile, cannot trace native calls.
`torch.compiler.substitute_in_graph` makes Dynamo trace `traced_call` instead.  `traced_call` looks
the operator up during tracing.  A compiled program is valid only for the same function object, and
a guard of Dynamo checks that.  Eager programs do not use this module.
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


# Decorator of functions whose result is a constant of a traced program.  Dynamo calls the function
# while it traces, and traces again if a later call passes other objects as arguments.
_ConstantT = TypeVar("_ConstantT", bound=Callable[..., Any])
_constant: Callable[[_ConstantT], _ConstantT] = torch.compiler.assume_constant_result


class _Namespace:
    """A namespace for objects that traced programs use; Dynamo traces again if one changes."""


_calls = _Namespace()
_functions = _Namespace()


@functools.cache  # once per process: torch rejects a second registration
def trace_functions() -> None:
    """Register the functions that Dynamo traces instead of native calls and module look-ups."""
    substitute: Any = torch.compiler.substitute_in_graph
    substitute(Function.__call__, skip_signature_check=True)(traced_call)
    substitute(function_of_module, skip_signature_check=True)(traced_lookup)
    substitute(CObject.__chandle__, skip_signature_check=True)(traced_address)


# ---- calls of functions --------------------------------------------------------------------------


def traced_call(self: Function, /, *args: Any, **kwargs: Any) -> Any:
    """Call the function's torch operator; Dynamo traces this instead of ``Function.__call__``."""
    reason = _untraceable_reason(self)
    if reason:
        torch._dynamo.graph_break(msg=reason)
    return getattr(_calls, _attribute_of_call(self))(*args, **kwargs)


@_constant
def _untraceable_reason(function: Function) -> str:
    """Return the reason why a call cannot be traced, or an empty string if it can."""
    try:
        operator = traced_operator(function)
    except UntraceableError as error:
        return str(error)
    if not operator.has_rules and torch._C._functorch.peek_interpreter_stack() is not None:
        return (
            f"`{operator.signature.name}` has no derivative and no batching rule, and is called "
            "inside a transform of torch.func; create an operator with "
            "tvm_ffi.interop.torch.register"
        )
    return ""


@_constant
def _attribute_of_call(function: Function) -> str:
    """Return the name of the attribute of `_calls` that calls the function's operator."""
    operator = traced_operator(function)
    name = re.sub(r"\W", "_", operator.name)
    if not hasattr(_calls, name):
        setattr(_calls, name, _call_of(operator))
    return name


def _call_of(operator: Operator) -> Callable[..., Any]:
    """Return a Python function with the signature's parameters that calls the operator."""
    signature = operator.signature
    name = signature.name.replace("::", ".").rpartition(".")[2] or "function"
    call_text = f"{_OPERATOR}({_call_arguments(signature)})"
    text = f"def {name}({_parameters(signature)}):\n    return {call_text}\n"
    namespace: dict[str, Any] = {_OPERATOR: operator.overload}
    # `exec` is safe, because the signature contributes only identifiers to the source text.
    exec(compile(text, f"<signature of {name}>", "exec"), namespace)
    call: Any = namespace[name]
    call.__defaults__ = tuple(
        _default_of(parameter)
        for parameter in signature.parameters
        if parameter.kind in _POSITIONAL and _has_default(parameter)
    )
    call.__kwdefaults__ = {
        parameter.name: _default_of(parameter)
        for parameter in signature.parameters
        if parameter.kind == "keyword-only" and _has_default(parameter)
    }
    typed_call: Callable[..., Any] = call
    return typed_call


_OPERATOR = "__operator"
_POSITIONAL = ("positional-only", "positional")


def _has_default(parameter: Parameter) -> bool:
    return parameter.default is not EMPTY


def _parameters(signature: Signature) -> str:
    """Return the parameter list of the ``def``; `_call_of` sets the values of the defaults."""
    kinds = [parameter.kind for parameter in signature.parameters]
    parts = []
    for index, parameter in enumerate(signature.parameters):
        if parameter.kind == "keyword-only" and "keyword-only" not in kinds[:index]:
            parts += [] if "variadic" in kinds else ["*"]
        star = "*" if parameter.kind == "variadic" else ""
        parts.append(f"{star}{parameter.name}{'=None' if _has_default(parameter) else ''}")
        if parameter.kind == "positional-only" and "positional-only" not in kinds[index + 1 :]:
            parts.append("/")
    return ", ".join(parts)


def _call_arguments(signature: Signature) -> str:
    """Return the argument list of the operator call; variadic arguments become a list."""
    formats = {"variadic": "list({0})", "keyword-only": "{0}={0}"}
    return ", ".join(
        formats.get(parameter.kind, "{0}").format(parameter.name)
        for parameter in signature.parameters
    )


def _default_of(parameter: Parameter) -> Any:
    default = parameter.default
    if isinstance(default, str) and _is_dtype(parameter):
        return getattr(torch, default)
    return list(default) if isinstance(default, tuple) else default


def _is_dtype(parameter: Parameter) -> bool:
    type_ = parameter.type
    return isinstance(type_, ValueType) and "dtype" in (
        type_.schema.origin,
        *(argument.origin for argument in type_.schema.args or ()),
    )


# ---- functions of modules ------------------------------------------------------------------------


def traced_lookup(module: Module, name: str, query_imports: bool) -> Any:
    """Return a function of a module; Dynamo traces this instead of `function_of_module`."""
    key = _attribute_of_function(module, name, query_imports)
    if not key:
        raise AttributeError(_missing_message(module, name, query_imports))
    return getattr(_functions, key)


@_constant
def _attribute_of_function(module: Module, name: str, query_imports: bool) -> str:
    """Return the name under which `_functions` has a module's function; empty if there is none."""
    function = function_of_module(module, name, query_imports)
    if function is None:
        return ""
    key = f"_{module.__chandle__()}_{name}"
    if not hasattr(_functions, key):
        setattr(_functions, key, function)
    return key


@_constant
def _missing_message(module: Module, name: str, query_imports: bool) -> str:
    try:
        module.get_function(name, query_imports)
    except AttributeError as error:
        return str(error)
    # Another thread has just added the function to the module.
    return f"Module has no function '{name}'"


def traced_address(self: CObject) -> int:
    """Return the address of an object; Dynamo traces this instead of ``Object.__chandle__``."""
    return _address(self)


@_constant
def _address(value: CObject) -> int:
    address: int = value.__chandle__()
    return address
