# SPDX-License-Identifier: Apache-2.0
"""Argument binding errors: missing, unknown, duplicate and excess arguments, as in CPython."""

from __future__ import annotations

from collections.abc import Sequence

from .._internal.suggestion import did_you_mean
from ._declaration import Declaration
from ._parameter import Parameter

__all__ = ["binding_problem", "missing_arguments_message", "too_many_arguments_message"]


def binding_problem(
    signature: Declaration, num_positional: int, keywords: Sequence[str]
) -> str | None:
    """Return the error message for arguments that do not match the parameters; None if they match.

    Parameters
    ----------
    signature : Declaration
        Signature of the called function.
    num_positional : int
        Number of positional arguments.
    keywords : sequence of str
        Names of the keyword arguments.
    """
    by_position = [p for p in signature.parameters if p.kind.startswith("positional")]
    given = {parameter.name for parameter in by_position[:num_positional]}
    return (
        _unknown_keyword(signature, keywords)
        or _given_twice(signature, given, keywords)
        or _too_many(signature, by_position, num_positional)
        or missing_arguments_message(signature, given | set(keywords))
    )


def _unknown_keyword(signature: Declaration, keywords: Sequence[str]) -> str | None:
    kinds = {parameter.name: parameter.kind for parameter in signature.parameters}
    for keyword in keywords:
        kind = kinds.get(keyword)
        if kind in ("positional", "keyword-only"):
            continue
        if kind == "positional-only":
            return f"got positional-only argument '{keyword}' as a keyword argument"
        names = [name for name, kind in kinds.items() if kind in ("positional", "keyword-only")]
        return f"got an unexpected keyword argument '{keyword}'{did_you_mean(keyword, names)}"
    return None


def _given_twice(signature: Declaration, given: set[str], keywords: Sequence[str]) -> str | None:
    known = set(given)
    for keyword in keywords:
        if keyword in known:
            return f"got multiple values for argument '{keyword}'"
        known.add(keyword)
    return None


def _too_many(
    signature: Declaration, by_position: list[Parameter], num_positional: int
) -> str | None:
    most = len(by_position)
    if num_positional <= most or any(p.kind == "variadic" for p in signature.parameters):
        return None
    least = sum(parameter.is_required for parameter in by_position)
    return too_many_arguments_message(least, most, str(num_positional))


def too_many_arguments_message(least: int, most: int, given: str) -> str:
    """Return the error message for too many positional arguments.

    Parameters
    ----------
    least, most : int
        Number of required and of all positional parameters.
    given : str
        Number of positional arguments as text, or the placeholder ``{got}`` of a template.
    """
    count = str(most) if least == most else f"from {least} to {most}"
    plural = "" if count == "1" else "s"
    verb = "was" if given == "1" else "were"
    return f"takes {count} positional argument{plural} but {given} {verb} given"


def missing_arguments_message(signature: Declaration, given: set[str]) -> str | None:
    """Return the error message for missing required arguments; None if all are given."""
    absent = [p for p in signature.parameters if p.is_required and p.name not in given]
    if not absent:
        return None
    kind = "positional" if absent[0].kind != "keyword-only" else "keyword-only"
    names = [f"'{p.name}'" for p in absent if (p.kind == "keyword-only") == (kind != "positional")]
    plural = "" if len(names) == 1 else "s"
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f"missing {len(names)} required {kind} argument{plural}: {listed}"
