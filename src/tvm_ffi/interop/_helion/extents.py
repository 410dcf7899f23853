# SPDX-License-Identifier: Apache-2.0
"""Sizes that torch calculates with symbols, as extents of signatures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from ...signature._expression import Expression, Extent, extent_text

__all__ = ["UnknownExtentError", "condition_of", "extent_of", "product"]

# Operations by the names of their classes in SymPy and torch.
_OPERATORS = {
    "CleanDiv": "//", "FloorDiv": "//", "Max": "max", "Min": "min", "Mod": "%", "Mul": "*",
    "PythonMod": "%",
}  # fmt: skip
_RELATIONS = {
    "Equality": "==", "Unequality": "!=", "StrictLessThan": "<", "LessThan": "<=",
    "StrictGreaterThan": ">", "GreaterThan": ">=",
}  # fmt: skip
_LONGEST = 80  # characters of an expression in an error


class UnknownExtentError(ValueError):
    """A size or a condition that signatures cannot say."""

    def __init__(self, expression: Any) -> None:
        text = str(expression)
        super().__init__(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}...")


def extent_of(size: Any, names: Mapping[str, str]) -> Extent:
    """Return a size as an extent.

    Parameters
    ----------
    size : int, torch.SymInt or an expression of SymPy
        The size.
    names : mapping of str to str
        What symbols are called.

    Raises
    ------
    UnknownExtentError
        If it has a symbol without a name, or an operation that extents do not have.
    """
    if isinstance(size, int):
        return size
    return _read(size.node.expr if hasattr(size, "node") else size, names)


def condition_of(relation: Any, names: Mapping[str, str]) -> str:
    """Return a comparison of sizes as a condition of a launch plan.

    Raises
    ------
    UnknownExtentError
        If it is none of two extents.
    """
    operator = _RELATIONS.get(type(relation).__name__)
    if operator is None:
        raise UnknownExtentError(relation)
    left, right = (extent_text(_read(side, names)) for side in relation.args)
    return f"{left} {operator} {right}"


def product(extents: Sequence[Extent]) -> Extent:
    """Return how many elements a tensor of these extents has."""
    number, rest = 1, []
    for extent in extents:
        if isinstance(extent, int):
            number *= extent
        else:
            rest.append(extent)
    return _chain("*", [*([number] if number != 1 or not rest else []), *rest])


def _read(expression: Any, names: Mapping[str, str]) -> Extent:
    if expression.is_Integer:
        number = int(expression)
        return number if number >= 0 else Expression("-", (0, -number))
    if expression.is_Symbol:
        if expression.name not in names:
            raise UnknownExtentError(expression)
        return names[expression.name]
    kind = type(expression).__name__
    if kind == "Add":
        return _sum(expression.args, names)
    if kind == "Pow" and expression.exp.is_Integer and 0 < int(expression.exp) <= 8:
        return _chain("*", [_read(expression.base, names)] * int(expression.exp))
    if kind not in _OPERATORS:
        raise UnknownExtentError(expression)
    if kind == "Mul" and expression.could_extract_minus_sign():
        return Expression("-", (0, _read(-expression, names)))
    operands = [_read(one, names) for one in expression.args]
    if kind == "Mul":
        operands.sort(key=lambda one: (not isinstance(one, int), extent_text(one)))
    return _chain(_OPERATORS[kind], operands)


def _sum(terms: Sequence[Any], names: Mapping[str, str]) -> Extent:
    """Return a sum as people write it: names first, what is subtracted last."""
    added = [_read(one, names) for one in terms if not one.could_extract_minus_sign()]
    subtracted = [_read(-one, names) for one in terms if one.could_extract_minus_sign()]
    for operands in (added, subtracted):  # SymPy's order is that of its symbols
        operands.sort(key=lambda one: (isinstance(one, int), extent_text(one)))
    return _chain("-", [_chain("+", added or [0]), *subtracted])


def _chain(operator: str, operands: Sequence[Extent]) -> Extent:
    return reduce(lambda one, other: Expression(operator, (one, other)), operands)
