# SPDX-License-Identifier: Apache-2.0
"""C statements that raise errors: message templates and the values of their placeholders.

Each statement is one call of a cold support function with constants, so a check that passes costs
only its comparison.
"""

from __future__ import annotations

from ..signature._checks import Failure
from ._c_source import literal

__all__ = ["fail", "fail_dtype", "fail_type", "fail_with", "failure_call"]


def fail(failure: Failure, **holes: str) -> str:
    """Return a C statement that raises; `holes` are C expressions of numbers in the message."""
    return f"return {failure_call(failure, **holes)};"


def failure_call(failure: Failure, **holes: str) -> str:
    """Return a C call that raises; `holes` are C expressions of the numbers in the message."""
    parts = failure.parts()
    used = [hole for _, hole in parts if hole is not None]
    texts = [literal(text) for text, _ in parts]
    error = literal(failure.error)
    if len(used) > 3:
        numbers = [_as_int64(holes[hole]) for hole in used]
        pieces = [piece for pair in zip(texts, numbers) for piece in pair]
        return f"wrapper_fail_dimension({error}, {', '.join(pieces)})"
    if not used:
        nothing = ", ".join(["NULL"] * (7 - len(texts)))
        return f"wrapper_fail({error}, {', '.join(texts)}, {nothing})"
    texts += ["NULL"] * (4 - len(texts))
    values = [_as_int64(holes[hole]) for hole in used] + ["0"] * (3 - len(used))
    pieces = [texts[0]]
    for value, text in zip(values, texts[1:]):
        pieces += [value, text]
    return f"wrapper_fail_numbers({error}, {len(used)}, {', '.join(pieces)})"


def _as_int64(expression: str) -> str:
    return expression if expression.isidentifier() else f"(int64_t)({expression})"


def fail_dtype(failure: Failure, expected: str, got: str) -> str:
    """Return the C statement that raises the error for a wrong dtype."""
    parts = failure.parts()
    assert [hole for _, hole in parts] == ["expected", "got"][-len(parts) :]
    texts = [literal(text) for text, _ in parts] + ["NULL"] * (2 - len(parts))
    pieces = f"{texts[0]}, {expected}, {texts[1]}, {got}"
    return f"return wrapper_fail_dtype({literal(failure.error)}, {pieces});"


def fail_type(failure: Failure, big: Failure, value: str) -> str:
    """Return the C statement that raises the error for an argument of a wrong type."""
    assert big.template == failure.template
    errors = f"{literal(failure.error)}, {literal(big.error)}"
    return f"return wrapper_fail_type({errors}, {literal(_before_got(failure))}, &{value});"


def fail_with(subject: str, failure: Failure, got: str) -> str:
    """Return the C statement that raises the error for a wrong device or wrong strides."""
    texts = f"{literal(failure.error)}, {literal(_before_got(failure))}"
    return f"return wrapper_fail_{subject}({texts}, {got});"


def _before_got(failure: Failure) -> str:
    """Return a message template without its only placeholder, which is at the end."""
    ((text, hole),) = failure.parts()
    assert hole == "got"
    return text
