# SPDX-License-Identifier: Apache-2.0
"""Breaks Rust text into lines of at most 100 columns."""

from __future__ import annotations

from collections.abc import Iterable

from .consts import RUST_MAX_WIDTH

__all__ = ["call_lines", "indented", "signature_lines", "struct_lines"]

_STEP = " " * 4


def indented(lines: Iterable[str], depth: int = 1) -> list[str]:
    """Put lines that many steps to the right."""
    return [f"{_STEP * depth}{line}" if line else "" for line in lines]


def signature_lines(head: str, parameters: list[str], tail: str, depth: int) -> list[str]:
    """Return ``head(parameters) tail``, on one line or with one parameter on each."""
    return _listed(f"{head}(", parameters, f") {tail}", depth)


def struct_lines(head: str, members: list[str], depth: int) -> list[str]:
    """Return ``head { members }``, on one line or with one member on each."""
    line = f"{head} {{ {', '.join(members)} }}"
    if _fits(line, depth):
        return [line]
    return [f"{head} {{", *indented(f"{member}," for member in members), "}"]


def call_lines(target: str, head: str, arguments: list[str], depth: int) -> list[str]:
    """Return ``let target = head(arguments);``, broken behind the sign before the arguments."""
    call = f"{head}({', '.join(arguments)});"
    if _fits(f"let {target} = {call}", depth):
        return [f"let {target} = {call}"]
    if _fits(call, depth + 1):
        return [f"let {target} =", f"{_STEP}{call}"]
    return _listed(f"let {target} = {head}(", arguments, ");", depth)


def _listed(head: str, parts: list[str], tail: str, depth: int) -> list[str]:
    line = head + ", ".join(parts) + tail
    if _fits(line, depth):
        return [line]
    return [head, *indented(f"{part}," for part in parts), tail]


def _fits(line: str, depth: int) -> bool:
    return len(line) + len(_STEP) * depth <= RUST_MAX_WIDTH
