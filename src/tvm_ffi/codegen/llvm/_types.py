# SPDX-License-Identifier: Apache-2.0
"""LLVM types of C types, and their extension attributes in calls."""

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


def type_of_c(name: str) -> Any:
    """Return the LLVM type of values of a C type."""
    return PTR if name.endswith("*") else _TYPES[name.removeprefix("u") if "int" in name else name]


def memory_type(name: str) -> Any:
    """Return the LLVM type of a variable of a C type; ``bool`` occupies a byte."""
    return I8 if name == "bool" else type_of_c(name)


def extension_of(name: str) -> str | None:
    """Return the extension attribute of integers below 64 bits in calls; None for other types."""
    type_ = type_of_c(name)
    if type_ not in (I1, I8, I16, I32) or name.endswith("*"):
        return None
    return "zeroext" if name == "bool" or name.startswith("u") else "signext"
