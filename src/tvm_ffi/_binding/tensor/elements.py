# SPDX-License-Identifier: Apache-2.0
"""Elements of CPU tensors as Python numbers and as text.

Parameters named `dtype` are tuples (type code, bits, lanes).  Parameters named `content` are the
bytes of the elements in row-major order.  The layouts of the 8-bit floats are from DLPack 1.3, OCP
8-bit Floating Point (OFP8) 1.0 and OCP Microscaling Formats 1.0.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Union

__all__ = ["has_numbers", "nested", "numbers_of", "rows_of", "text_of"]

Triple = tuple[int, int, int]
Number = Union[bool, int, float, complex]

_INT, _UINT, _FLOAT, _BFLOAT, _COMPLEX, _BOOL = 0, 1, 2, 4, 5, 6

# Format characters of the module `struct`, by (type code, bits).
_FORMATS = {
    **{(_INT, bits): char for bits, char in ((8, "b"), (16, "h"), (32, "i"), (64, "q"))},
    **{(_UINT, bits): char for bits, char in ((8, "B"), (16, "H"), (32, "I"), (64, "Q"))},
    **{(_FLOAT, bits): char for bits, char in ((16, "e"), (32, "f"), (64, "d"))},
    (_BOOL, 8): "?",
}


class _SmallFloat(NamedTuple):
    """Layout of an 8-bit float: a sign bit, then the exponent, then the fraction."""

    exponent_bits: int
    bias: int
    special: str
    """Special values.

    ``"ieee"``: infinities and NaNs as in IEEE 754.  ``"fn"``: no infinities; NaN has all bits set
    except the sign.  ``"fnuz"``: no infinities and no minus zero, whose bits are the NaN.
    """


# ORDER dtype-code: the 8-bit floats by DLPack type code, except e8m0.
_SMALL_FLOATS = {
    7: _SmallFloat(3, 3, "ieee"),
    8: _SmallFloat(4, 7, "ieee"),
    9: _SmallFloat(4, 11, "fnuz"),
    10: _SmallFloat(4, 7, "fn"),
    11: _SmallFloat(4, 8, "fnuz"),
    12: _SmallFloat(5, 15, "ieee"),
    13: _SmallFloat(5, 16, "fnuz"),
}
_E8M0 = 14  # e8m0 has an exponent, but neither sign nor fraction


# ---- Numbers -------------------------------------------------------------------------------------


def has_numbers(dtype: Triple) -> bool:
    """Return True if elements of this dtype can be converted to Python numbers."""
    return _reader_of(dtype) is not None


def numbers_of(content: bytes | bytearray, dtype: Triple) -> list[Number]:
    """Return the elements as a flat list of numbers; raise TypeError for a non-numeric dtype."""
    read = _reader_of(dtype)
    if read is None:
        code, bits, lanes = dtype
        raise TypeError(
            f"elements of type code {code}, {bits} bits and {lanes} lanes do not convert to Python "
            "numbers; read the memory at data_ptr() as another type"
        )
    return read(content)


def nested(numbers: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """Return a flat list of elements as nested lists, one level per dimension of `shape`."""
    if not shape:
        return numbers[0]
    if len(shape) == 1:
        return list(numbers)
    step = 1
    for extent in shape[1:]:
        step *= extent
    # Raises MemoryError for a huge extent instead of running a long loop.
    rows: list[Any] = [None] * shape[0]
    for i in range(shape[0]):
        rows[i] = nested(numbers[i * step : (i + 1) * step], shape[1:])
    return rows


def _reader_of(dtype: Triple) -> Callable[[bytes | bytearray], list[Number]] | None:
    code, bits, lanes = dtype
    if lanes != 1:
        return None
    if (code, bits) in _FORMATS:
        format_char = _FORMATS[code, bits]
        return lambda content: list(_unpack(format_char, content))
    if (code, bits) == (_BFLOAT, 16):
        return _read_bfloat16
    if code == _COMPLEX and bits in (64, 128):
        return lambda content: _read_complex(_FORMATS[_FLOAT, bits // 2], content)
    if bits == 8 and (code in _SMALL_FLOATS or code == _E8M0):
        return lambda content: [_table_of(code)[byte] for byte in content]
    return None


def _unpack(format_char: str, content: bytes | bytearray) -> tuple[Any, ...]:
    count = len(content) // struct.calcsize("=" + format_char)
    return struct.unpack(f"={count}{format_char}", content)


def _read_bfloat16(content: bytes | bytearray) -> list[Number]:
    """Return bfloat16 elements as numbers; an element is the upper half of a 32-bit float."""
    return [struct.unpack("=f", struct.pack("=I", half << 16))[0] for half in _unpack("H", content)]


def _read_complex(format_char: str, content: bytes | bytearray) -> list[Number]:
    parts = _unpack(format_char, content)
    return [complex(real, imaginary) for real, imaginary in zip(parts[::2], parts[1::2])]


_tables: dict[int, list[float]] = {}


def _table_of(code: int) -> list[float]:
    """Return the values that the 256 bytes have in the 8-bit float type with this type code."""
    if code not in _tables:
        _tables[code] = [_value_of(byte, code) for byte in range(256)]
    return _tables[code]


def _value_of(byte: int, code: int) -> float:
    if code != _E8M0:
        return _small_float(byte, _SMALL_FLOATS[code])
    return float("nan") if byte == 255 else 2.0 ** (byte - 127)


def _small_float(byte: int, layout: _SmallFloat) -> float:
    fraction_bits = 7 - layout.exponent_bits
    exponent = byte >> fraction_bits & (1 << layout.exponent_bits) - 1
    fraction = byte & (1 << fraction_bits) - 1
    sign = -1.0 if byte & 0x80 else 1.0
    if layout.special == "fnuz" and byte == 0x80:
        return float("nan")
    if layout.special == "fn" and byte & 0x7F == 0x7F:
        return float("nan")
    if layout.special == "ieee" and exponent == (1 << layout.exponent_bits) - 1:
        return sign * float("inf") if fraction == 0 else float("nan")
    if exponent == 0:  # subnormal
        return float(sign * fraction * 2.0 ** (1 - layout.bias - fraction_bits))
    significand = 1 + fraction / (1 << fraction_bits)
    return float(sign * significand * 2.0 ** (exponent - layout.bias))


# ---- Text ----------------------------------------------------------------------------------------

# Maximum number of useful significant decimal digits of 16-bit floats, by (type code, bits).
_DIGITS = {(_FLOAT, 16): 5, (_BFLOAT, 16): 4}


def text_of(
    content: bytes | bytearray,
    dtype: Triple,
    shape: tuple[int, ...],
    precision: int,
    line_width: int,
) -> str:
    """Return the elements as text with nested brackets, on one line or with one line per row.

    Parameters
    ----------
    content : bytes
        The elements in row-major order.
    dtype : tuple of int
        Type code, bits, lanes.
    shape : tuple of int
        Extents; all are greater than 0.
    precision : int
        Significant digits of floats.
    line_width : int
        Maximum length of text on one line, in characters; longer text has one line per row.
    """
    elements = _strings_of(content, dtype, precision)
    line = _join_nested(nested(elements, shape), "")
    if len(line) <= line_width or len(shape) < 2:
        return line
    width = max(map(len, elements))
    return "\n" + _join_nested(nested([text.rjust(width) for text in elements], shape), "\n")


def rows_of(
    content: bytes | bytearray, dtype: Triple, shape: tuple[int, ...], precision: int
) -> list[list[str]]:
    """Return the elements of a matrix as rows of strings; `text_of` describes the parameters."""
    rows: list[list[str]] = nested(_strings_of(content, dtype, precision), shape)
    return rows


def _strings_of(content: bytes | bytearray, dtype: Triple, precision: int) -> list[str]:
    code, bits, _ = dtype
    format_element = _formatter_of(code, min(precision, _DIGITS.get((code, bits), precision)))
    return [format_element(number) for number in numbers_of(content, dtype)]


def _join_nested(rows: Any, separator: str, depth: int = 1) -> str:
    if isinstance(rows, str):
        return rows
    if not isinstance(rows[0], list):
        return "[" + ", ".join(rows) + "]"
    delimiter = f",{separator}{' ' * depth}" if separator else ", "
    return "[" + delimiter.join(_join_nested(row, separator, depth + 1) for row in rows) + "]"


def _formatter_of(code: int, digits: int) -> Callable[[Any], str]:
    """Return a function that formats elements of a type code; floats get `digits` digits."""
    if code in (_INT, _UINT, _BOOL):
        return str
    if code == _COMPLEX:
        return lambda number: f"{number.real:.{digits}g}{number.imag:+.{digits}g}j"
    return lambda number: f"{number:.{digits}g}"
