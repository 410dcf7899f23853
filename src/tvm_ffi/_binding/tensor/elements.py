# SPDX-License-Identifier: Apache-2.0
"""Elements of CPU tensors as Python numbers, and as text.

Types are (type code, bits, lanes), contents the bytes of the elements in row-major order.  Source
of the small floats: DLPack 1.3; OCP 8-bit Floating Point, revision 1.0; OCP Microscaling 1.0.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Union

__all__ = ["has_numbers", "nested", "numbers_of", "rows_of", "text_of"]

Triple = tuple[int, int, int]
Number = Union[bool, int, float, complex]

_INT, _UINT, _FLOAT, _BFLOAT, _COMPLEX, _BOOL = 0, 1, 2, 4, 5, 6

# Letters of `struct`, by type code and bits.
_LETTERS = {
    **{(_INT, bits): letter for bits, letter in ((8, "b"), (16, "h"), (32, "i"), (64, "q"))},
    **{(_UINT, bits): letter for bits, letter in ((8, "B"), (16, "H"), (32, "I"), (64, "Q"))},
    **{(_FLOAT, bits): letter for bits, letter in ((16, "e"), (32, "f"), (64, "d"))},
    (_BOOL, 8): "?",
}


class _SmallFloat(NamedTuple):
    """A float of 8 bits: sign, exponent, fraction."""

    exponent_bits: int
    bias: int
    special: str
    """``"ieee"``: infinities, NaNs; ``"fn"``: all ones are the NaN; ``"fnuz"``: minus zero is."""


# ORDER dtype-code: the small floats from code 7 on, without e8m0.
_SMALL_FLOATS = {
    7: _SmallFloat(3, 3, "ieee"),
    8: _SmallFloat(4, 7, "ieee"),
    9: _SmallFloat(4, 11, "fnuz"),
    10: _SmallFloat(4, 7, "fn"),
    11: _SmallFloat(4, 8, "fnuz"),
    12: _SmallFloat(5, 15, "ieee"),
    13: _SmallFloat(5, 16, "fnuz"),
}
_E8M0 = 14


# ---- Numbers -------------------------------------------------------------------------------------


def has_numbers(dtype: Triple) -> bool:
    """Whether Python has numbers for the elements of a type."""
    return _reader_of(dtype) is not None


def numbers_of(content: bytes | bytearray, dtype: Triple) -> list[Number]:
    """Return the elements, in row-major order; TypeError where Python has no such numbers."""
    read = _reader_of(dtype)
    if read is None:
        code, bits, lanes = dtype
        raise TypeError(
            f"Python has no numbers for elements of type code {code}, {bits} bits and {lanes} "
            "lanes: read the memory at data_ptr() as another type"
        )
    return read(content)


def nested(numbers: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """Return the elements as lists of lists, one level for each dimension."""
    if not shape:
        return numbers[0]
    if len(shape) == 1:
        return list(numbers)
    step = 1
    for extent in shape[1:]:
        step *= extent
    rows: list[Any] = [None] * shape[0]  # all at once: without elements there may be any number
    for i in range(shape[0]):
        rows[i] = nested(numbers[i * step : (i + 1) * step], shape[1:])
    return rows


def _reader_of(dtype: Triple) -> Callable[[bytes | bytearray], list[Number]] | None:
    code, bits, lanes = dtype
    if lanes != 1:
        return None
    if (code, bits) in _LETTERS:
        letter = _LETTERS[code, bits]
        return lambda content: list(_unpack(letter, content))
    if (code, bits) == (_BFLOAT, 16):
        return _read_bfloat16
    if code == _COMPLEX and bits in (64, 128):
        return lambda content: _read_complex(_LETTERS[_FLOAT, bits // 2], content)
    if bits == 8 and (code in _SMALL_FLOATS or code == _E8M0):
        return lambda content: [_table_of(code)[byte] for byte in content]
    return None


def _unpack(letter: str, content: bytes | bytearray) -> tuple[Any, ...]:
    return struct.unpack(f"={len(content) // struct.calcsize('=' + letter)}{letter}", content)


def _read_bfloat16(content: bytes | bytearray) -> list[Number]:
    """Read the upper halves of 32-bit floats."""
    return [struct.unpack("=f", struct.pack("=I", half << 16))[0] for half in _unpack("H", content)]


def _read_complex(letter: str, content: bytes | bytearray) -> list[Number]:
    parts = _unpack(letter, content)
    return [complex(real, imaginary) for real, imaginary in zip(parts[::2], parts[1::2])]


_tables: dict[int, list[float]] = {}


def _table_of(code: int) -> list[float]:
    """Return the value of each byte."""
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

# The most digits that tell elements of a type from their neighbours; others have more.
_DIGITS = {(_FLOAT, 16): 5, (_BFLOAT, 16): 4}


def text_of(
    content: bytes | bytearray,
    dtype: Triple,
    shape: tuple[int, ...],
    precision: int,
    line_width: int,
) -> str:
    """Return nested lists of the elements: in one line where it is short, else a line per row.

    Parameters
    ----------
    content : bytes
        The elements in row-major order.
    dtype : tuple of int
        Their type.
    shape : tuple of int
        Extents, none of which is 0.
    precision : int
        Significant digits of floats.
    line_width : int
        Characters of what is one line.
    """
    elements = _texts_of(content, dtype, precision)
    line = _joined(nested(elements, shape), "")
    if len(line) <= line_width or len(shape) < 2:
        return line
    width = max(map(len, elements))
    return "\n" + _joined(nested([text.rjust(width) for text in elements], shape), "\n")


def rows_of(
    content: bytes | bytearray, dtype: Triple, shape: tuple[int, ...], precision: int
) -> list[list[str]]:
    """Return the texts of the elements of a matrix; parameters as for `text_of`."""
    rows: list[list[str]] = nested(_texts_of(content, dtype, precision), shape)
    return rows


def _texts_of(content: bytes | bytearray, dtype: Triple, precision: int) -> list[str]:
    code, bits, _ = dtype
    show = _shower_of(code, min(precision, _DIGITS.get((code, bits), precision)))
    return [show(number) for number in numbers_of(content, dtype)]


def _joined(rows: Any, separator: str, depth: int = 1) -> str:
    if isinstance(rows, str):
        return rows
    if not isinstance(rows[0], list):
        return "[" + ", ".join(rows) + "]"
    between = f",{separator}{' ' * depth}" if separator else ", "
    return "[" + between.join(_joined(row, separator, depth + 1) for row in rows) + "]"


def _shower_of(code: int, digits: int) -> Callable[[Any], str]:
    """Return what makes text of an element."""
    if code in (_INT, _UINT, _BOOL):
        return str
    if code == _COMPLEX:
        return lambda number: f"{number.real:.{digits}g}{number.imag:+.{digits}g}j"
    return lambda number: f"{number:.{digits}g}"
