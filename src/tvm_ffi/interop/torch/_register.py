# SPDX-License-Identifier: Apache-2.0
"""Registration of torch operators with fake kernels, derivatives, batching rules and autocast."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Callable

import torch

from ..._binding.call import Function, declared_signature
from ...signature import Parameter, Result, Signature, TensorType
from ._arguments import bind_positions, check_functions, pass_by_position
from ._dispatcher_kernels import kernel_of, register_version_kernel
from ._fake import checked_fake_kernel, fake_kernel_of, run_checks, unknown_result_reason
from ._locator import locate
from ._native_kernels import plan_of
from ._operators import (
    Operator,
    UntraceableError,
    define,
    missing_effect,
    set_operator_of_function,
    undefine,
)
from ._schema import may_write, schema_text
from ._transforms import Rules, add_derivative

__all__ = ["register"]


def register(
    function: Function,
    name: str,
    *,
    signature: Signature | str | None = None,
    functional: bool = False,
    fake: Callable[..., Any] | None = None,
    backward: Callable[..., Any] | None = None,
    setup_context: Callable[..., Any] | None = None,
    jvp: Callable[..., Any] | None = None,
    vmap: Callable[..., Any] | None = None,
    autocast: Mapping[str, torch.dtype] | None = None,
    devices: Sequence[str] = (),
) -> Any:
    """Register a torch operator that calls a function.

    Parameters
    ----------
    function : Function
        The function that the operator calls.
    name : str
        The operator's name, ``"ns::f"``.
    signature : Signature or str, optional
        Signature of the function; default: the signature that the function declares.
    functional : bool
        True if the operator allocates and returns the tensors that the function writes: the
        operator has no ``out`` parameters, and copies the arguments of ``inout`` parameters and of
        those with an unknown direction.
        Derivatives and vmap need a functional operator.
    fake : callable, optional
        Fake kernel.  torch calls it with the operator's arguments while it traces a program.  The
        fake kernel returns tensors with the shape, dtype and device of the results.  Default:
        derived from the signature.
    backward, setup_context : callable, optional
        The reverse-mode derivative, as for `torch.library.register_autograd`; `torch.func` uses it,
        too.
    jvp : callable, optional
        The forward-mode derivative for `torch.func`, as for a `torch.autograd.Function`:
        ``jvp(ctx, *tangents)`` with a tangent for each argument, or None for an argument that is
        not a tensor.  `setup_context` fills in ``ctx``, and saves tensors for `jvp` with
        ``ctx.save_for_forward``.
    vmap : callable, optional
        The batching rule for `torch.vmap`, as for `torch.library.register_vmap`.  Its parameters
        need the defaults of the operator's parameters, because torch omits equal arguments.
    autocast : mapping of str to torch.dtype, optional
        Dtype to which `torch.autocast` casts floating-point tensors, by device type.
    devices : sequence of str
        Device types that the function supports, such as ``["cpu", "cuda"]``; default: all.

    Returns
    -------
    torch._ops.OpOverload
        The operator ``torch.ops.ns.f.default``.

    Raises
    ------
    TypeError
        If `function` is not a `Function`, a rule is not callable, or `setup_context` is passed
        without a derivative.
    UntraceableError
        If torch needs information that neither `signature` nor `fake` provide.
    ValueError
        If `name` has no namespace, or is the name of an existing operator; if a derivative is
        passed for an operator that writes its arguments; if torch does not know a device type.

    Notes
    -----
    The operator exists for the life of the process and keeps the function alive.  In traced
    programs, calls of the function itself also use the operator, unless it is functional.

    Threads: any.
    """
    if not isinstance(function, Function):
        raise TypeError(
            f"expected a tvm_ffi.Function, got {type(function).__name__}; convert a Python "
            "callable with tvm_ffi.convert_func"
        )
    _check_name(name)
    _check_rules(fake=fake, backward=backward, setup_context=setup_context, jvp=jvp, vmap=vmap)
    _check_devices("devices", devices)
    _check_autocast(autocast or {})
    # Unlike the function, the operator checks its arguments even if the signature is `unchecked`.
    function_signature = replace(_signature_of(function, signature), unchecked=False)
    reason = missing_effect(function_signature)
    if reason is not None:
        raise UntraceableError(f"{name}: {reason}. The signature is `{function_signature}`")
    op_signature = _functional_signature(function_signature) if functional else function_signature
    _check_derivative(name, op_signature, backward or jvp)
    fake_kernel = (
        _derived_fake(name, op_signature)
        if fake is None
        else checked_fake_kernel(op_signature, fake)
    )
    operator = define(
        name,
        schema_text(op_signature, has_fake=fake is not None),
        function,
        op_signature,
        locate(function),
        kernel=_functional_kernel(function, function_signature, fake_kernel)
        if functional
        else _checked_kernel(function, function_signature),
        fake=fake_kernel,
        devices=tuple(devices),
        has_rules=any(rule is not None for rule in (backward, jvp, vmap)),
        # The user's fake kernel allocates the results of a functional operator.
        plan=None if functional and fake else plan_of(function, function_signature, op_signature),
    )
    rules = Rules(backward or _no_derivative(name), setup_context, jvp, vmap)
    try:
        _add_rules(operator, rules, autocast or {})
    except BaseException:
        undefine(operator)
        raise
    if not functional:
        set_operator_of_function(operator)
    return operator.overload


# ---- argument checks -----------------------------------------------------------------------------


def _check_name(name: Any) -> None:
    if not isinstance(name, str):
        raise TypeError(f"`name`: expected a str, got {type(name).__name__}")
    if re.fullmatch(r"[A-Za-z_]\w*::[A-Za-z_]\w*", name, re.ASCII) is None:
        raise ValueError(f"`name`: expected a name like 'ns::f', got {name!r}")
    if any(map(keyword.iskeyword, name.split("::"))):
        raise ValueError(f"`name`: expected no Python keyword in a name, got {name!r}")


def _check_rules(**rules: Any) -> None:
    for parameter, rule in rules.items():
        if rule is not None and not callable(rule):
            raise TypeError(f"`{parameter}`: expected a callable, got {type(rule).__name__}")
    if rules["setup_context"] and not (rules["backward"] or rules["jvp"]):
        raise TypeError("`setup_context`: expected also `backward` or `jvp`, got neither")


def _check_devices(parameter: str, devices: Iterable[Any]) -> None:
    if isinstance(devices, str):
        raise TypeError(
            f"`{parameter}`: expected a sequence of device types, got a str; pass [{devices!r}]"
        )
    for device in devices:
        try:
            is_type = torch.device(device).type == device
        except (RuntimeError, TypeError):
            is_type = False
        if not is_type:
            raise ValueError(f"`{parameter}`: torch has no device type {device!r}")


def _check_autocast(autocast: Mapping[str, Any]) -> None:
    _check_devices("autocast", autocast)
    for device, dtype in autocast.items():
        if not isinstance(dtype, torch.dtype):
            raise TypeError(
                f"`autocast`: expected a torch.dtype for {device!r}, got {type(dtype).__name__}"
            )


def _signature_of(function: Function, explicit: Signature | str | None) -> Signature:
    if explicit is not None:
        return Signature.of(explicit)
    locator = locate(function)
    signature = declared_signature(function) if locator is None else locator.signature()
    if signature is None:
        name = "the function" if locator is None else f"`{locator.name}`"
        raise UntraceableError(f"{name} has no signature; pass a signature as signature=")
    return signature


def _check_derivative(name: str, signature: Signature, backward: Any) -> None:
    written = [parameter.name for parameter in signature.parameters if may_write(parameter)]
    if backward is not None and written:
        raise ValueError(
            f"{name} may write to '{written[0]}', but torch supports derivatives only for "
            "operators that return new tensors; pass functional=True, or declare the parameter as "
            "`in` in the signature"
        )


def _derived_fake(name: str, signature: Signature) -> Callable[..., Any]:
    reason = unknown_result_reason(signature)
    if reason is not None:
        raise UntraceableError(f"{name}: {reason}; pass a fake kernel as fake=")
    return fake_kernel_of(signature)


def _checked_kernel(function: Function, signature: Signature) -> Callable[..., Any]:
    """Return a kernel that checks arguments, since `signature` may not be the function's own."""
    call = kernel_of(function, signature, _missing_checks(function, signature))

    def kernel(*args: Any, **kwargs: Any) -> Any:
        run_checks(signature, bind_positions(signature, args, kwargs))
        return call(*args, **kwargs)

    return kernel


def _missing_checks(function: Function, signature: Signature) -> tuple[Function, ...]:
    """Return check functions for a signature; none if each call of the function checks it."""
    return () if declared_signature(function) == signature else check_functions(signature)


# ---- functional operators ------------------------------------------------------------------------


def _functional_signature(signature: Signature) -> Signature:
    """Return the signature of a functional operator, which returns the tensors it writes."""
    written = _written(signature)
    outputs = tuple(Result(parameter.type, parameter.name) for parameter in written)
    return replace(
        signature,
        parameters=tuple(
            replace(parameter, direction="in")
            for parameter in signature.parameters
            if not (parameter in written and parameter.direction == "out")
        ),
        results=outputs + signature.results,
    )


def _written(signature: Signature) -> list[Parameter]:
    """Return the parameters whose tensors a functional operator returns."""
    written = [parameter for parameter in signature.parameters if may_write(parameter)]
    for parameter in written:
        if not isinstance(parameter.type, TensorType):
            raise UntraceableError(
                f"a functional operator cannot return '{parameter.name}', which is no single tensor"
            )
        if parameter.type.is_optional:
            raise UntraceableError(
                f"a functional operator cannot return '{parameter.name}', which may be None"
            )
    return written


def _functional_kernel(
    function: Function, signature: Signature, fake: Callable[..., Any]
) -> Callable[..., Any]:
    """Return a kernel that allocates the written tensors with `fake`, then calls the function."""
    written = _written(signature)
    op_signature = _functional_signature(signature)
    call = kernel_of(function, signature, _missing_checks(function, signature))

    def kernel(*args: Any, **kwargs: Any) -> Any:
        allocated = fake(*args, **kwargs)
        tensors = allocated if isinstance(allocated, tuple) else (allocated,)
        arguments = bind_positions(op_signature, args, kwargs)
        outputs = dict(zip([parameter.name for parameter in written], tensors))
        for parameter in written:
            if parameter.direction != "out":
                outputs[parameter.name].copy_(arguments[parameter.name])
        arguments.update(outputs)
        run_checks(signature, arguments)  # `fake` may be the user's.
        function_args, function_kwargs = pass_by_position(signature, arguments)
        results = call(*function_args, **function_kwargs)
        returned = results if isinstance(results, tuple) else () if results is None else (results,)
        all_results = (*outputs.values(), *returned)
        return all_results[0] if len(all_results) == 1 else all_results

    return kernel


# ---- derivatives, batching rules and autocast ----------------------------------------------------


def _add_rules(operator: Operator, rules: Rules, autocast: Mapping[str, torch.dtype]) -> None:
    name, library = operator.name, operator.library
    if any(map(may_write, operator.signature.parameters)):
        register_version_kernel(operator)
    else:
        add_derivative(operator, rules)
    if rules.vmap is not None:
        torch.library.register_vmap(name, rules.vmap, lib=library)
    for device, dtype in autocast.items():
        torch.library.register_autocast(name, device, dtype, lib=library)


def _no_derivative(name: str) -> Callable[..., Any]:
    def backward(*_: Any) -> Any:
        raise NotImplementedError(
            f"{name} has no derivative; pass backward= to tvm_ffi.interop.torch.register, or call "
            "the operator with tensors that do not require a gradient (tensor.detach())"
        )

    return backward
