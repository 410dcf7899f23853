# SPDX-License-Identifier: Apache-2.0
"""Conditions on the arguments of a call: reading, checks, and instructions of a check program.

Launch plans and dispatches select by conditions such as ``d % 8 == 0 and bias is not None``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..signature import Signature
from ..signature._check_program import CheckWriter, Label
from ..signature._expression import Extent, names_in
from ..signature._parsing import parse_conditions
from ._call_errors import operation_failures
from ._launch_parts import PRESENCE, Condition, compared_with_none
from ._wrapper import always_bound, is_optional, is_unsigned, unsigned_operand, with_given

__all__ = [
    "check_conditions",
    "check_names",
    "conditions_of",
    "emit_condition",
    "with_conditions",
]

# Comparison operator -> name of the operation, and True if the operands must be swapped.
_COMPARISONS = {
    "<": ("less", False),
    ">": ("less", True),
    "<=": ("less_equal", False),
    ">=": ("less_equal", True),
    "==": ("equal", False),
    "!=": ("not_equal", False),
}
_OPERATORS = (*_COMPARISONS, *PRESENCE)


def conditions_of(name: str, text: str | None) -> tuple[Condition, ...]:
    """Return the conditions that a text joins by ``and``; `name` is the function in messages.

    Raises
    ------
    ValueError
        If the text is not a condition.
    """
    if text is None:
        return ()
    try:
        return tuple(Condition(*parts) for parts in parse_conditions(text))
    except ValueError as error:
        raise ValueError(f"{name}: when: {error}") from None


def with_conditions(signature: Signature, when: Iterable[Condition]) -> Signature:
    """Return a signature in which the parameters are required that `when` requires to be given."""
    return with_given(signature, compared_with_none(when, "is not"))


# ---- checks --------------------------------------------------------------------------------------


def check_conditions(signature: Signature, when: Sequence[Condition]) -> None:
    """Raise ValueError unless each condition can be evaluated in every call that reaches it."""
    for index, condition in enumerate(when):
        if condition.operator not in _OPERATORS:
            raise ValueError(
                f"operator of a condition must be one of {', '.join(_OPERATORS)}, "
                f"got {condition.operator!r}"
            )
        _check_condition(with_conditions(signature, when[:index]), condition)


def _check_condition(signature: Signature, condition: Condition) -> None:
    for extent in condition.operands:
        check_names(signature, f"when {condition}", extent)
    if (condition.right is None) != (condition.operator in PRESENCE):
        raise ValueError(f"{signature.name}: only `is` and `is not` compare with None")
    optional = [parameter.name for parameter in signature.parameters if is_optional(parameter)]
    if condition.right is None and condition.left not in optional:
        raise ValueError(
            f"{signature.name}: '{condition.left}' in when {condition} is not a parameter that may "
            f"be None; expected one of: {', '.join(optional) or 'none'}"
        )


def check_names(signature: Signature, field: str, extent: Extent) -> None:
    """Raise ValueError unless every call has a value for each name in an extent."""
    bound = set(always_bound(signature))
    for name in names_in(extent):
        if is_unsigned(signature, name):
            raise ValueError(f"{signature.name}: {field}: {unsigned_operand(name)}")
        if name not in bound:
            known = ", ".join(sorted(bound)) or "none"
            raise ValueError(
                f"{signature.name}: '{name}' in {field} is not an extent of every call; "
                f"expected one of: {known}"
            )


# ---- instructions --------------------------------------------------------------------------------


def emit_condition(
    checks: CheckWriter, signature: Signature, condition: Condition, result: int
) -> None:
    """Emit the evaluation of a condition; the register `result` becomes 1 or 0."""
    checks.known.clear()  # earlier instructions may be skipped
    if condition.right is None:
        _emit_presence(checks, signature, condition, result)
        return
    operation, is_swapped = _COMPARISONS[condition.operator]
    where = f"{signature.name}(): "
    operands = [
        checks.value(operand, operation_failures(where, operand)) for operand in condition.operands
    ]
    checks.out.emit(operation, result, *(operands[::-1] if is_swapped else operands))


def _emit_presence(
    checks: CheckWriter, signature: Signature, condition: Condition, result: int
) -> None:
    """Emit the comparison of an argument with None."""
    out, label = checks.out, Label()
    index = [parameter.name for parameter in signature.parameters].index(str(condition.left))
    default = signature.parameters[index].default
    for_none = int(condition.operator == "is")
    constants = out.constant(for_none), out.constant(1 - for_none)
    out.emit("maximum", result, constants[0], constants[0])
    out.emit("jump_if_none", index, int(default is None), label)
    out.emit("maximum", result, constants[1], constants[1])
    out.bind(label)
