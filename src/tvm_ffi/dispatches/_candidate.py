# SPDX-License-Identifier: Apache-2.0
"""`Candidate`: one implementation of a dispatch, with the calls for which it may be chosen."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Callable

from .._binding.call import Function, convert_func, declared_signature, python_callable
from .._binding.values import Device
from ..codegen import Condition, LaunchPlan, launch_module
from ..codegen._conditions import check_conditions, conditions_of
from ..signature import Signature
from ._cpu import feature_names, features_of

__all__ = ["Candidate", "function_of", "new_candidate"]


@dataclass(frozen=True)
class Candidate:
    """An implementation, and the calls for which it may be chosen."""

    name: str
    source: Any  # the function as the caller passed it; pickles contain it
    function: Function
    when: tuple[Condition, ...] = ()
    device: str | None = None
    arch: str | None = None
    cpu: tuple[str, ...] = ()
    priority: int = 0
    is_reference: bool = False

    @property
    def device_type(self) -> int:
        """The DLPack device type; -1 for a candidate that runs on all devices."""
        return -1 if self.device is None else int(Device(self.device).dlpack_device_type())

    def unavailable(self, features: frozenset[str]) -> str:
        """Return the reason why a CPU with these features cannot run the candidate, or ""."""
        missing = sorted(features_of(self.cpu) - features)
        if not missing:
            return ""
        return f"needs {' '.join(self.cpu)}, the processor lacks {', '.join(missing)}"

    def options(self) -> dict[str, Any]:
        """Return the arguments of `Dispatch.add` that create an equal candidate."""
        when = " and ".join(map(str, self.when)) or None
        cpu = self.cpu or None
        return {
            "name": self.name,
            "when": when,
            "device": self.device,
            "arch": self.arch,
            "cpu": cpu,
            "priority": self.priority,
        }


def new_candidate(
    signature: Signature,
    source: Any,
    name: str,
    *,
    when: str | None,
    device: str | None,
    arch: str | None,
    cpu: str | Iterable[str] | None,
    priority: int,
) -> Candidate:
    """Return a candidate for a signature.

    Raises
    ------
    TypeError, ValueError
        If `source` cannot implement the signature, or a requirement is invalid.
    """
    where = f"{signature.name}: candidate {name!r}"
    conditions = conditions_of(where, when)
    _check_conditions(signature, conditions)
    if isinstance(priority, bool) or not isinstance(priority, int):
        raise TypeError(f"{where}: priority must be an int, got {type(priority).__name__}")
    if arch is not None:
        device = _device_of_requirement(where, device, "arch", "cuda")
        if re.fullmatch(r"sm_[1-9]\d{1,2}[af]?", arch) is None:
            raise ValueError(f"{where}: expected a GPU architecture such as 'sm_90', got {arch!r}")
    if cpu is not None:
        device = _device_of_requirement(where, device, "cpu", "cpu")
    if device is not None:
        _check_device(where, device)
    return Candidate(
        name,
        source,
        function_of(where, signature, source),
        conditions,
        device,
        arch,
        () if cpu is None else feature_names(where, cpu),
        priority,
    )


def function_of(where: str, signature: Signature, source: Any) -> Function:
    """Return the function of a candidate; raise unless it takes the arguments of the signature."""
    if isinstance(source, LaunchPlan):
        function: Function = launch_module(source).get_function(source.name)
    elif isinstance(source, Function) or callable(source):
        function = convert_func(source)
    else:
        raise TypeError(
            f"{where}: expected a function, a launch plan or a Python callable, got "
            f"{type(source).__name__}"
        )
    _check_count(where, signature, function)
    return function


def _device_of_requirement(where: str, device: str | None, requirement: str, implied: str) -> str:
    if device not in (None, implied):
        raise ValueError(
            f"{where}: `{requirement}` is a property of {implied} devices, but `device` is "
            f"{device!r}"
        )
    return implied


def _check_device(where: str, device: str) -> None:
    try:
        Device(device)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: device: {error}") from None
    if ":" in device:
        raise ValueError(f"{where}: expected a device type such as 'cuda', got {device!r}")


def _check_conditions(signature: Signature, conditions: tuple[Condition, ...]) -> None:
    """Raise ValueError unless each condition can be evaluated in every call that reaches it."""
    variables = signature.dtype_variables
    others = [condition for condition in conditions if condition.left not in variables]
    check_conditions(signature, others)
    for condition in conditions:
        if condition.left not in variables:
            continue
        dtypes = variables[str(condition.left)]
        if condition.operator not in ("==", "!=") or condition.right not in dtypes:
            raise ValueError(
                f"{signature.name}: when {condition}: compare the dtype variable "
                f"'{condition.left}' by == or != with one of {', '.join(dtypes)}"
            )


def _check_count(where: str, signature: Signature, function: Function) -> None:
    """Raise ValueError unless a function takes one argument per parameter, by position."""
    count = len(signature.parameters)
    called: Callable[..., Any] | None = python_callable(function)
    if called is not None:
        try:
            inspect.signature(called).bind(*[None] * count)
        except TypeError:
            shown = inspect.signature(called)
            raise ValueError(
                f"{where}: expected a function of {count} positional arguments, got {shown}"
            ) from None
        except ValueError:  # built-in functions without a signature
            pass
        return
    declared = declared_signature(function)
    if declared is None or any(p.kind == "variadic" for p in declared.parameters):
        return
    least = sum(parameter.is_required for parameter in declared.parameters)
    if not least <= count <= len(declared.parameters):
        raise ValueError(f"{where}: expected a function of {count} arguments, got `{declared}`")
