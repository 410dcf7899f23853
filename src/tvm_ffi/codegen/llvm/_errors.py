# SPDX-License-Identifier: Apache-2.0
"""Instructions that raise: the templates of the plan, and what is put into their holes.

Each is one call of the support code with constants, and returns what that returns.
"""

from __future__ import annotations

from typing import Any

from ...signature._checks import Failure
from . import _support_raise as support
from ._code import I32, I64, Code, null

__all__ = ["fail", "fail_dtype", "fail_type", "fail_with"]

_MAX_NUMBERS = 3


def fail(code: Code, failure: Failure, **holes: Any) -> None:
    """Raise, with numbers for the holes in the text."""
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
    """Raise for an element type; `expected` is a text, or NULL."""
    parts = failure.parts()
    assert [hole for _, hole in parts] == ["expected", "got"][-len(parts) :]
    texts = [code.string(text) for text, _ in parts] + [null()] * (2 - len(parts))
    pieces = (texts[0], expected, texts[1], got)
    code.ret(support.fail_dtype(code, code.string(failure.error), *pieces))


def fail_type(code: Code, failure: Failure, big: Failure, value: Any) -> None:
    """Raise for the type of an argument."""
    assert big.template == failure.template
    errors = (code.string(failure.error), code.string(big.error))
    code.ret(support.fail_type(code, *errors, code.string(_before_got(failure)), value))


def fail_with(code: Code, subject: str, failure: Failure, *got: Any) -> None:
    """Raise for a device, or the strides of a tensor."""
    texts = (code.string(failure.error), code.string(_before_got(failure)))
    code.ret(getattr(support, f"fail_{subject}")(code, *texts, *got))


def _before_got(failure: Failure) -> str:
    """Return the text of a template that ends with its only hole."""
    ((text, hole),) = failure.parts()
    assert hole == "got"
    return text
