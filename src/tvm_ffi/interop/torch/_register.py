# SPDX-License-Identifier: Apache-2.0
"""Operators that somebody names: with a stand-in of their own, derivatives, rules of transforms."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Callable

import torch

from ..._binding.call import Function
from ...signature import Parameter, Result, Signature, TensorType
from ._arguments import bind_positions, pass_by_position
from ._dispatcher_kernels import count_writes, kernel_of
from ._fake import fake_of, unknown_result
from ._locator import place_of
from ._operators import Operator, UntraceableError, define, forget, remember
from ._schema import schema_text, writes
from ._transforms import Rules, add_transforms

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
    """Make an operator of torch that calls a function.

    Parameters
    ----------
    function : Function
        What the operator calls.
    name : str
        The operator's name, ``"ns::f"``.
    signature : Signature or str, optional
        What the function takes and returns; default: what it says about itself.
    functional : bool
        Whether the operator makes the tensors that the function writes and returns them: ``out``
        parameters are none of the operator's, ``inout`` ones are copied.  Derivatives and vmap are
        for such operators.
    fake : callable, optional
        Called with the operator's arguments while a program is traced; returns tensors like the
        results, without elements that anybody reads.  Default: made from the signature.
    backward, setup_context : callable, optional
        The derivative, as `torch.library.register_autograd` has it; also under `torch.func`.
    jvp : callable, optional
        The forward derivative under `torch.func`, as that of a `torch.autograd.Function`:
        ``jvp(ctx, *tangents)`` with a tangent for each argument, None for what is no tensor.
        `setup_context` has made ``ctx``; keep tensors for it with ``ctx.save_for_forward``.
    vmap : callable, optional
        The rule for `torch.vmap`, as `torch.library.register_vmap` has it.  Its parameters have the
        same defaults as those of the operator: torch leaves such arguments out.
    autocast : mapping of str to torch.dtype, optional
        By type of device, what tensors of floating point are cast to under `torch.autocast`.
    devices : sequence of str
        Types of devices that the function is for, such as ``["cpu", "cuda"]``; default: all.

    Returns
    -------
    torch._ops.OpOverload
        The operator, which is ``torch.ops.ns.f.default``.

    Raises
    ------
    TypeError
        If `function` is no `Function`, or something that should be callable is not; if there is a
        `setup_context` for nothing.
    UntraceableError
        If neither `signature` nor `fake` say what torch has to know.
    ValueError
        If `name` is no name with a namespace, or there is an operator of this name; if a derivative
        is given for an operator that writes into its arguments; if torch has no such device.

    Notes
    -----
    The operator stays for the life of the process, and keeps the function.  Where it takes the same
    arguments as the function, programs that are traced call it also where they call the function.

    Threads: any.
    """
    if not isinstance(function, Function):
        raise TypeError(
            f"expected a tvm_ffi.Function, got {type(function).__name__}; "
            "tvm_ffi.convert_func makes one of a Python callable"
        )
    _check_name(name)
    _check_rules(fake=fake, backward=backward, setup_context=setup_context, jvp=jvp, vmap=vmap)
    _check_devices("devices", devices)
    _check_autocast(autocast or {})
    own = _signature_of(function, signature)
    shown = _returning(own) if functional else own
    _check_derivative(name, shown, backward or jvp)
    stand_in = fake or _fake_of(name, shown)
    operator = define(
        name,
        schema_text(shown, is_known=fake is not None),
        function,
        shown,
        place_of(function),
        kernel=_returning_kernel(function, own, stand_in) if functional else None,
        fake=stand_in,
        devices=tuple(devices),
        has_rules=any(rule is not None for rule in (backward, jvp, vmap)),
    )
    rules = Rules(backward or _no_derivative(name), setup_context, jvp, vmap)
    try:
        _add_rules(operator, rules, autocast or {})
    except BaseException:
        forget(operator)
        raise
    if not functional:
        remember(operator)
    return operator.overload


# ---- what is given -------------------------------------------------------------------------------


def _check_name(name: Any) -> None:
    if not isinstance(name, str):
        raise TypeError(f"the name of an operator is a str, got {type(name).__name__}")
    if re.fullmatch(r"[A-Za-z_]\w*::[A-Za-z_]\w*", name, re.ASCII) is None:
        raise ValueError(f"the name of an operator is like 'ns::f', got {name!r}")
    word = next(filter(keyword.iskeyword, name.split("::")), None)
    if word is not None:
        raise ValueError(f"the name of an operator has no keywords of Python, got {name!r}")


def _check_rules(**rules: Any) -> None:
    for what, rule in rules.items():
        if rule is not None and not callable(rule):
            raise TypeError(f"`{what}` must be callable, got {type(rule).__name__}")
    if rules["setup_context"] and not (rules["backward"] or rules["jvp"]):
        raise TypeError("`setup_context` is for `backward` and `jvp`, and there is neither")


def _check_devices(what: str, devices: Iterable[Any]) -> None:
    if isinstance(devices, str):
        raise TypeError(f"`{what}` holds types of devices, got a str: pass [{devices!r}]")
    for device in devices:
        try:
            is_type = torch.device(device).type == device
        except (RuntimeError, TypeError):
            is_type = False
        if not is_type:
            raise ValueError(f"`{what}`: torch has no type of device {device!r}")


def _check_autocast(autocast: Mapping[str, Any]) -> None:
    _check_devices("autocast", autocast)
    for device, dtype in autocast.items():
        if not isinstance(dtype, torch.dtype):
            raise TypeError(
                f"`autocast`: expected a torch.dtype for {device!r}, got {type(dtype).__name__}"
            )


def _signature_of(function: Function, given: Signature | str | None) -> Signature:
    if given is not None:
        return Signature.of(given)
    place = place_of(function)
    signature = None if place is None else place.signature()
    if signature is None:
        name = "the function" if place is None else f"`{place.name}`"
        raise UntraceableError(f"{name} has no signature: pass one as signature=")
    return signature


def _check_derivative(name: str, signature: Signature, backward: Any) -> None:
    written = [one.name for one in signature.parameters if writes(one)]
    if backward is not None and written:
        raise ValueError(
            f"{name} writes into '{written[0]}', and torch has derivatives for operators that "
            "return what they make: pass functional=True, or say in the signature that it only "
            "reads"
        )


def _fake_of(name: str, signature: Signature) -> Callable[..., Any]:
    reason = unknown_result(signature)
    if reason is not None:
        raise UntraceableError(f"{name}: {reason}; pass a function as fake=")
    return fake_of(signature)


# ---- operators that return what the function writes ----------------------------------------------


def _returning(signature: Signature) -> Signature:
    """Return the signature of an operator whose results are what the function writes."""
    made = tuple(Result(one.type, one.name) for one in signature.parameters if _is_written(one))
    return replace(
        signature,
        parameters=tuple(
            replace(one, direction="in")
            for one in signature.parameters
            if not (_is_written(one) and one.direction == "out")
        ),
        results=made + signature.results,
    )


def _is_written(parameter: Parameter) -> bool:
    if not parameter.is_written:
        return False
    if not isinstance(parameter.type, TensorType) or parameter.type.is_optional:
        raise UntraceableError(f"an operator cannot return '{parameter.name}', which may be None")
    return True


def _returning_kernel(
    function: Function, signature: Signature, make: Callable[..., Any]
) -> Callable[..., Any]:
    """Return what makes the tensors that the function writes, and calls it."""
    written = [one for one in signature.parameters if _is_written(one)]
    taken = _returning(signature)
    call = kernel_of(function, signature)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        made = make(*args, **kwargs)
        tensors = made if isinstance(made, tuple) else (made,)
        arguments = bind_positions(taken, args, kwargs)
        outputs = dict(zip([one.name for one in written], tensors))
        for parameter in written:
            if parameter.direction == "inout":
                outputs[parameter.name].copy_(arguments[parameter.name])
        by_position, by_name = pass_by_position(signature, {**arguments, **outputs})
        results = call(*by_position, **by_name)
        returned = results if isinstance(results, tuple) else () if results is None else (results,)
        everything = (*outputs.values(), *returned)
        return everything[0] if len(everything) == 1 else everything

    return kernel


# ---- rules ---------------------------------------------------------------------------------------


def _add_rules(operator: Operator, rules: Rules, autocast: Mapping[str, torch.dtype]) -> None:
    name, library = operator.name, operator.library
    if not any(map(writes, operator.signature.parameters)):
        torch.library.register_autograd(
            name, rules.backward, setup_context=rules.setup_context, lib=library
        )
        add_transforms(operator, rules)
    else:
        count_writes(operator)
    if rules.vmap is not None:
        torch.library.register_vmap(name, rules.vmap, lib=library)
    for device, dtype in autocast.items():
        torch.library.register_autocast(name, device, dtype, lib=library)


def _no_derivative(name: str) -> Callable[..., Any]:
    def backward(*_: Any) -> Any:
        raise NotImplementedError(
            f"{name} has no derivative: pass it to tvm_ffi.interop.torch.register as backward=, "
            "or call the operator with tensors that need none (tensor.detach())"
        )

    return backward
