# SPDX-License-Identifier: Apache-2.0
"""Arithmetic expressions over extents: ``n``, ``2*n``, ``cdiv(n, 1024)``.

An extent is an int, a name (str) or an `Expression`. Division rounds down, as in Python. Values are
signed 64-bit integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Union

from ._literals import builtin_value
from ._partial_repr import partial_repr

__all__ = [
    "FUNCTIONS",
    "Expression",
    "Extent",
    "ExtentError",
    "apply",
    "evaluate",
    "extent_text",
    "fits_64_bits",
    "names_in",
]

FUNCTIONS = {"cdiv": 2, "min": 2, "max": 2}  # numbers of arguments, by function
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "//": 2, "%": 2}
_DIVISIONS = ("//", "%", "cdiv")
_LIMITS = (-(2**63), 2**63 - 1)


class ExtentError(ValueError):
    """Error for a division by zero or a 64-bit overflow in an extent expression.

    Parameters
    ----------
    operation : Expression
        The operation that failed.
    reason : {"zero", "overflow"}
        Division by zero, or a value that does not fit 64 bits.
    """

    def __init__(self, operation: Expression, reason: str) -> None:
        descriptions = {"zero": "divides by zero", "overflow": "does not fit 64 bits"}
        super().__init__(f"`{operation}` {descriptions[reason]}")
        self.operation, self.reason = operation, reason


@partial_repr
@dataclass(frozen=True)
class Expression:
    """An operation: ``+ - * // %`` with two operands, or a function call.

    Parameters
    ----------
    operator : str
        One of the operators, or the name of a function in `FUNCTIONS`.
    operands : tuple of int, str and Expression
        The two operands.

    Raises
    ------
    ValueError
        If the operation fails for all values of the names: ``n//0``, ``2**62 * 2``.
    """

    operator: str
    operands: tuple[Extent, ...]

    def __post_init__(self) -> None:
        arity = FUNCTIONS.get(self.operator, 2 if self.operator in _PRECEDENCE else None)
        if arity is None:
            raise ValueError(f"unknown operator {self.operator!r} in an extent")
        object.__setattr__(self, "operands", tuple(map(builtin_value, self.operands)))
        if len(self.operands) != arity:
            raise ValueError(f"{self.operator!r} takes {arity} operands, got {len(self.operands)}")
        for operand in self.operands:
            if isinstance(operand, bool) or not isinstance(operand, (int, str, Expression)):
                raise TypeError(
                    "an operand must be an int, a name or an Expression, got "
                    f"{type(operand).__name__}"
                )
            if isinstance(operand, int) and not fits_64_bits(operand):
                raise ValueError(f"operand {operand} of an extent expression does not fit 64 bits")
        _check_constant_operation(self)

    def __str__(self) -> str:
        return extent_text(self)


Extent = Union[int, str, Expression]


def fits_64_bits(number: int) -> bool:
    """Return True if a number fits a signed 64-bit integer."""
    return _LIMITS[0] <= number <= _LIMITS[1]


def names_in(extent: Extent) -> Iterator[str]:
    """Yield the names in an extent, from left to right."""
    if isinstance(extent, str):
        yield extent
    elif isinstance(extent, Expression):
        for operand in extent.operands:
            yield from names_in(operand)


def evaluate(extent: Extent, values: Mapping[str, int]) -> int:
    """Return the value of an extent.

    Raises
    ------
    KeyError
        If a name has no value.
    ValueError
        If a number is divided by zero, or a value does not fit 64 bits.
    """
    if isinstance(extent, int):
        return extent
    if isinstance(extent, str):
        return values[extent]
    left, right = (evaluate(operand, values) for operand in extent.operands)
    if right == 0 and extent.operator in _DIVISIONS:
        raise ExtentError(extent, "zero")
    result: int = apply(extent.operator, left, right)
    if not fits_64_bits(result):
        raise ExtentError(extent, "overflow")
    return result


def _check_constant_operation(operation: Expression) -> None:
    """Raise ExtentError if an operation fails for all values of the names: ``n//0``."""
    divisor = operation.operands[1]
    is_constant = next(names_in(divisor), None) is None
    if operation.operator in _DIVISIONS and is_constant and evaluate(divisor, {}) == 0:
        raise ExtentError(operation, "zero")
    if next(names_in(operation), None) is None:
        evaluate(operation, {})


def apply(operator: str, left: Any, right: Any) -> Any:
    """Return the value of one operation; operands may be symbolic values of a tracing compiler."""
    if operator == "+":
        return left + right
    if operator == "-":
        return left - right
    if operator == "*":
        return left * right
    if operator == "//":
        return left // right
    if operator == "%":
        return left % right
    if operator == "cdiv":
        return -(-left // right)
    return min(left, right) if operator == "min" else max(left, right)


def extent_text(extent: Extent, precedence: int = 0) -> str:
    """Return the text of an extent, in brackets if its operator binds less than `precedence`."""
    if not isinstance(extent, Expression):
        return str(extent)
    own = _PRECEDENCE.get(extent.operator)
    if own is None:
        return f"{extent.operator}({', '.join(map(extent_text, extent.operands))})"
    left, right = extent.operands
    sign = extent.operator if own == 2 else f" {extent.operator} "
    # Operators associate to the left, so a right operand with the same precedence needs brackets.
    text = f"{extent_text(left, own)}{sign}{extent_text(right, own + 1)}"
    return f"({text})" if own < precedence else text
