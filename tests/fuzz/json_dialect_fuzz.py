# SPDX-License-Identifier: Apache-2.0
"""Fuzz target of the JSON dialect: our reader and Python's read the same value from a text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import coverage_guided

with coverage_guided.instrumented(__name__):
    import tvm_ffi

_parse = tvm_ffi.get_global_func("ffi.json.Parse")
_stringify = tvm_ffi.get_global_func("ffi.json.Stringify")

_BLANKS = ("", " ", "\n", "\t\r", "  ")
_SCALARS = ("null", "true", "false", "NaN", "Infinity", "-Infinity")
_INTEGERS = ("0", "-0", "7", "-12", "9223372036854775807", "-9223372036854775808", "1" * 30)
_FLOATS = ("0.5", "-0.0", "1e3", "2E-7", "1.7976931348623157e308", "5e-324", "123456789.125e+2")
_CHARACTERS = (
    *("a", "\u4e2d", "\x7f", "\\n", "\\/", '\\"'),
    *("\\u00e9", "\\u0000", "\\ud83d\\ude00", "\\udc00"),
)


@coverage_guided.watched(__name__)
def check(data: bytes) -> None:
    """Read a text with both readers; the first byte may select a modification."""
    choices = iter(data)
    damage = next(choices, 0)
    text = _text(choices, 4)
    if damage < 64:
        place = damage % (len(text) + 1)
        text = text[:place] + '[]{},:"0\\e- '[damage % 12] + text[place + damage % 2 :]
    try:
        expected = json.loads(text, parse_int=_integer, parse_float=_number)
        str(expected).encode()  # halves of surrogate pairs are not valid text
    except (ValueError, RecursionError):
        return
    try:
        parsed = _parse(text)
    except ValueError as error:
        # The value was in a member that a later member of the same name replaces.
        if "surrogate" in str(error) and "\\ud" in text:
            return
        raise
    value = json.loads(_stringify(parsed, None))
    # Compares as text, which distinguishes -0.0 from 0.0 and 1 from 1.0, and in which NaN equals
    # itself.
    assert repr(value) == repr(expected), (text, value, expected)


@coverage_guided.watched(__name__)
def _text(choices: Iterator[int], depth: int) -> str:
    choice = next(choices, 0)
    blank = _BLANKS[choice % len(_BLANKS)]
    if choice < 60 or depth == 0:
        return blank + (_SCALARS + _INTEGERS + _FLOATS)[choice % 20] + blank
    if choice < 120:
        return blank + _string(choices) + blank
    count = next(choices, 0) % 4
    if choice < 190:
        items = [_text(choices, depth - 1) for _ in range(count)]
        return f"{blank}[{','.join(items) or blank}]{blank}"
    members = [f"{_string(choices)}{blank}:{_text(choices, depth - 1)}" for _ in range(count)]
    return f"{blank}{{{','.join(members) or blank}}}{blank}"


@coverage_guided.watched(__name__)
def _string(choices: Iterator[int]) -> str:
    count = next(choices, 0) % 12
    characters = [_CHARACTERS[next(choices, 0) % len(_CHARACTERS)] for _ in range(count)]
    return f'"{"".join(characters)}"'


def _integer(digits: str) -> Any:
    """Return the value that our reader gives for an integer beyond 64 bits."""
    number = int(digits)
    return number if -(2**63) <= number < 2**63 else _number(digits)


def _number(text: str) -> float:
    number = float(text)
    if abs(number) == float("inf"):
        raise ValueError("the integer is too large for our JSON reader")
    return number


if __name__ == "__main__":
    coverage_guided.run(check)
