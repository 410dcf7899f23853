# SPDX-License-Identifier: Apache-2.0
"""Types of C as LLVM has them, and how C passes them."""

from __future__ import annotations

from typing import Any

from ._code import DOUBLE, FLOAT, I1, I8, I16, I32, I64, PTR

__all__ = ["extension_of", "memory_type", "type_of_c"]

_TYPES = {
    "bool": I1,
    "double": DOUBLE,
    "float": FLOAT,
    "int": I32,
    "int16_t": I16,
    "int32_t": I32,
    "int64_t": I64,
    "int8_t": I8,
}


def type_of_c(text: str) -> Any:
    """Return the type of values that have a type of C."""
    return PTR if text.endswith("*") else _TYPES[text.removeprefix("u") if "int" in text else text]


def memory_type(text: str) -> Any:
    """Return the type of a variable; C has no memory of one bit."""
    return I8 if text == "bool" else type_of_c(text)


def extension_of(text: str) -> str | None:
    """Return how a narrow integer is widened where it is passed or returned."""
    type_ = type_of_c(text)
    if type_ not in (I1, I8, I16, I32) or text.endswith("*"):
        return None
    return "zeroext" if text == "bool" or text.startswith("u") else "signext"
