# SPDX-License-Identifier: Apache-2.0
"""Dtype names, as `tvm_ffi.dtype` prints them: tests for valid names and C number types."""

from __future__ import annotations

import math
import re

__all__ = [
    "COMMON_DTYPES",
    "FLOAT32_END",
    "fits",
    "integer_range",
    "is_dtype_name",
    "is_scalar_dtype",
]

_EXACT = (
    *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"),
    *("float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
    *("float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"),
)
_SIZED = "bool|u?int(?P<bits>[1-9][0-9]{0,2})|float(?:16|32|64)|bfloat16"
_DTYPE = re.compile(
    rf"(?:{_SIZED}|{'|'.join(_EXACT)})(?:x(?P<lanes>[1-9][0-9]{{0,4}}))?|complex(?:64|128)"
)
COMMON_DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "bfloat16", "complex64", "complex128", *_EXACT),
)
_SCALAR = re.compile(r"(?P<code>u?int)(?P<bits>8|16|32|64)|float(?:32|64)")


def is_dtype_name(name: str) -> bool:
    """Return True if a name is that of a dtype, such as ``float8_e4m3fn`` or ``int8x4``."""
    found = _DTYPE.fullmatch(name)
    return (
        found is not None and int(found["bits"] or 0) <= 255 and int(found["lanes"] or 0) <= 32767
    )


def is_scalar_dtype(name: str) -> bool:
    """Return True for the dtype of a C integer, ``float`` or ``double``; False for ``bool``."""
    return _SCALAR.fullmatch(name) is not None


# The smallest magnitude that is rounded to infinity in the conversion from float64 to float32.
FLOAT32_END = float.fromhex("0x1.ffffffp127")


def integer_range(name: str) -> tuple[int, int] | None:
    """Return the smallest and the largest value of a C integer type; None for other types."""
    found = _SCALAR.fullmatch(name)
    if found is None or found["code"] is None:
        return None
    bits = int(found["bits"])
    return (
        (0, 2**bits - 1) if found["code"] == "uint" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    )


def fits(number: float, name: str) -> bool:
    """Return True if a number is in the range of a C integer type, ``float32`` or ``float64``.

    The infinities are in the range of ``float32``.
    """
    if name == "float32":
        return abs(number) < FLOAT32_END or not math.isfinite(number)
    limits = integer_range(name)
    return limits is None or limits[0] <= number <= limits[1]
