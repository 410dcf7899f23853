# SPDX-License-Identifier: Apache-2.0
"""LLVM IR that raises errors: message templates and the values of their placeholders.

Each function emits one call of a cold support function with constants, and the return of its -1.
"""

from __future__ import annotations

from typing import Any

from ...signature._checks import Failure
from . import _support_raise as support
from ._code import I32, I64, Code, null

__all__ = ["fail", "fail_dtype", "fail_type", "fail_with"]

_MAX_NUMBERS = 4


def fail(code: Code, failure: Failure, **holes: Any) -> None:
    """Emit code that raises an error; `holes` are the numbers in the message."""
    parts = failure.parts()
    used = [hole for _, hole in parts if hole is not None]
    error = code.string(failure.error)
    if not used:
        text = code.string("".join(text for text, _ in parts))
        code.ret(support.fail_with_text(code, error, text))
        return
    texts = [code.string(text) for text, _ in parts]
    texts += [null()] * (_MAX_NUMBERS + 1 - len(texts))
    numbers = [code.as_int64(holes[hole]) for hole in used]
    numbers += [I64(0)] * (_MAX_NUMBERS - len(numbers))
    pieces = [texts[0]]
    for number, text in zip(numbers, texts[1:]):
        pieces += [number, text]
    code.ret(support.fail_with_numbers(code, error, I32(len(used)), *pieces))


def fail_dtype(code: Code, failure: Failure, expected: Any, got: Any) -> None:
    """Emit code that raises the error for a wrong dtype; `expected` is a string, or NULL."""
    parts = failure.parts()
    assert [hole for _, hole in parts] == ["expected", "got"][-len(parts) :]
    texts = [code.string(text) for text, _ in parts] + [null()] * (2 - len(parts))
    pieces = (texts[0], expected, texts[1], got)
    code.ret(support.fail_dtype(code, code.string(failure.error), *pieces))


def fail_type(code: Code, failure: Failure, big: Failure, value: Any) -> None:
    """Emit code that raises the error for an argument of a wrong type."""
    assert big.template == failure.template
    errors = (code.string(failure.error), code.string(big.error))
    code.ret(support.fail_type(code, *errors, code.string(_before_got(failure)), value))


def fail_with(code: Code, subject: str, failure: Failure, *got: Any) -> None:
    """Emit code that raises the error for a wrong device or wrong strides."""
    texts = (code.string(failure.error), code.string(_before_got(failure)))
    code.ret(getattr(support, f"fail_{subject}")(code, *texts, *got))


def _before_got(failure: Failure) -> str:
    """Return a message template without its only placeholder, which is at the end."""
    ((text, hole),) = failure.parts()
    assert hole == "got"
    return text
