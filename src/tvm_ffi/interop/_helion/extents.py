# SPDX-License-Identifier: Apache-2.0
"""Conversion of torch's symbolic sizes (SymPy expressions) to extents of signatures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from ...signature._expression import Expression, Extent, extent_text

__all__ = ["UnknownExtentError", "condition_of", "extent_of", "product"]

# Operators of extent expressions, by the names of the SymPy and torch classes.
_OPERATORS = {
    "CleanDiv": "//", "FloorDiv": "//", "Max": "max", "Min": "min", "Mod": "%", "Mul": "*",
    "PythonMod": "%",
}  # fmt: skip
_RELATIONS = {
    "Equality": "==", "Unequality": "!=", "StrictLessThan": "<", "LessThan": "<=",
    "StrictGreaterThan": ">", "GreaterThan": ">=",
}  # fmt: skip
_MAX_LENGTH = 80  # length limit of an expression in an error message, in characters


class UnknownExtentError(ValueError):
    """A size or a condition that an extent expression cannot represent."""

    def __init__(self, expression: Any) -> None:
        text = str(expression)
        super().__init__(text if len(text) <= _MAX_LENGTH else f"{text[:_MAX_LENGTH]}...")


def extent_of(size: Any, names: Mapping[str, str]) -> Extent:
    """Return a torch size as an extent of a signature.

    Parameters
    ----------
    size : int, torch.SymInt or an expression of SymPy
        The size to convert.
    names : mapping of str to str
        Names of extents in the signature, by the names of SymPy symbols.

    Raises
    ------
    UnknownExtentError
        If the size contains a symbol that is not in `names`, or an operation that extent
        expressions do not have.
    """
    if isinstance(size, int):
        return size
    return _read(size.node.expr if hasattr(size, "node") else size, names)


def condition_of(relation: Any, names: Mapping[str, str]) -> str:
    """Return a comparison of sizes as a condition of a launch plan.

    Raises
    ------
    UnknownExtentError
        If `relation` is not a comparison of two extents.
    """
    operator = _RELATIONS.get(type(relation).__name__)
    if operator is None:
        raise UnknownExtentError(relation)
    left, right = (extent_text(_read(side, names)) for side in relation.args)
    return f"{left} {operator} {right}"


def product(extents: Sequence[Extent]) -> Extent:
    """Return the number of elements of a tensor with these extents."""
    factor, symbolic = 1, []
    for extent in extents:
        if isinstance(extent, int):
            factor *= extent
        else:
            symbolic.append(extent)
    return _chain("*", [*([factor] if factor != 1 or not symbolic else []), *symbolic])


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
    operands = [_read(operand, names) for operand in expression.args]
    if kind == "Mul":
        operands.sort(key=lambda operand: (not isinstance(operand, int), extent_text(operand)))
    return _chain(_OPERATORS[kind], operands)


def _sum(terms: Sequence[Any], names: Mapping[str, str]) -> Extent:
    """Return a sum with positive names first, then positive numbers, then the subtracted terms."""
    added = [_read(term, names) for term in terms if not term.could_extract_minus_sign()]
    subtracted = [_read(-term, names) for term in terms if term.could_extract_minus_sign()]
    # Sort the terms by name, because SymPy's order of terms is not alphabetical.
    for operands in (added, subtracted):
        operands.sort(key=lambda operand: (isinstance(operand, int), extent_text(operand)))
    return _chain("-", [_chain("+", added or [0]), *subtracted])


def _chain(operator: str, operands: Sequence[Extent]) -> Extent:
    return reduce(lambda left, right: Expression(operator, (left, right)), operands)
