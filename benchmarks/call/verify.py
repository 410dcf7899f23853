# SPDX-License-Identifier: Apache-2.0
"""Verification of results: rows are timed only if their result is correct."""

from __future__ import annotations

from typing import Any

from python_api.rows import StatementRow

from call.rows import CallRow
from call.subjects import INT_VALUE, PreparedCall, Subject

TENSOR_KINDS = ("tensor", "numpy", "torch")


class WrongResultError(Exception):
    """Error: the result of an implementation differs from the expected result of the row."""


def verify(subject: Subject, row: CallRow, prepared: PreparedCall) -> None:
    """Call once and compare the outcome with the row's expected outcome.

    Raises
    ------
    WrongResultError
        If the result, the exception or a tensor that the callee received differs.
    """
    if row.kernel == "raise_error":
        _verify_error(prepared)
        return
    result = prepared.once()
    if row.kernel == "echo":
        _verify_echo(subject, row.values[0], result, prepared.args[0])
    elif row.kernel == "apply":
        _expect(result, INT_VALUE + 1)
    else:
        _expect(result, None)
        if row.values and row.values[0] in TENSOR_KINDS:
            _expect(subject.count_expected_tensors(row.values[0], prepared.args), 3)


def verify_statement(row: StatementRow, names: dict[str, Any]) -> None:
    """Evaluate the row's check; raise `WrongResultError` if it is false."""
    if not eval(row.check, dict(names)):
        raise WrongResultError(f"the check of the row is false: {row.check}")


def _expect(actual: Any, expected: Any) -> None:
    if actual != expected:
        raise WrongResultError(f"expected the result {expected!r}, got {actual!r}")


def _verify_error(prepared: PreparedCall) -> None:
    try:
        prepared.call(*prepared.args)
    except ValueError as error:
        _expect(str(error), "the benchmark asked for this error")
    else:
        raise WrongResultError("expected that the call raises a ValueError, but it returned")


def _verify_echo(subject: Subject, kind: str, result: Any, argument: Any) -> None:
    if type(result) is not type(argument) and not isinstance(result, type(argument)):
        raise WrongResultError(f"expected a result of type {type(argument)}, got {type(result)}")
    if kind in TENSOR_KINDS:
        _expect(subject.count_expected_tensors(kind, (result, result, result)), 3)
    else:
        _expect(result, argument)
