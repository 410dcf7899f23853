# SPDX-License-Identifier: Apache-2.0
"""Writer of ELF64 object files that define a symbol for constant bytes.

    header | bytes (.rodata) | .note.gnu.property | .symtab | .strtab | .shstrtab | section headers

The symbol is global, read-only data.  The object file has no relocations and does not need an
executable stack.  Source: System V ABI and its supplements for the two machines.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple, Union

from .._internal.platform import machine as this_machine
from .elf_header import ET_REL, read_header

Content = Union[bytes, bytearray, memoryview]

# For each machine name of `machine()`: the ELF machine number, and the number of the GNU
# property for control-flow protection.  The linker marks a library as protected only if all of its
# objects have the property.
_MACHINES = {
    "x86_64": (62, 0xC0000002),  # GNU_PROPERTY_X86_FEATURE_1_AND: IBT and SHSTK
    "aarch64": (183, 0xC0000000),  # GNU_PROPERTY_AARCH64_FEATURE_1_AND: BTI and PAC
}
_ALL_PROTECTION = 3

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")

_SHT_PROGBITS, _SHT_SYMTAB, _SHT_STRTAB, _SHT_NOTE = 1, 2, 3, 7
_SHF_ALLOC = 2
_STB_GLOBAL, _STT_NOTYPE, _STT_OBJECT = 1, 0, 1
# 64-bit file, little-endian, ELF version 1, System V ABI
_IDENTITY = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")


def machine_of(path: str | os.PathLike[str]) -> str | None:
    """Return the machine name of an ELF64 file; None for other files and unsupported machines."""
    header = read_header(path)
    if header is None or header.bits != 64 or not header.is_little_endian:
        return None
    return header.machine_name if header.machine_name in _MACHINES else None


def write_object(
    file: BinaryIO,
    symbol: str,
    parts: Sequence[Content],
    machine: str | None = None,
    *,
    end_symbol: str | None = None,
    alignment: int = 16,
) -> None:
    """Write an object file whose data are the concatenated `parts`, without copying them.

    Parameters
    ----------
    file : binary file
        The file to write; the object file begins at the current position.
    symbol : str
        Name of the symbol at the first byte of the data.
    parts : sequence of bytes, bytearray or memoryview
        The data.
    machine : str, optional
        ``"x86_64"`` or ``"aarch64"``.  By default the machine of this process.
    end_symbol : str, optional
        Name of a symbol after the last byte of the data.
    alignment : int
        Alignment of the data in bytes; a power of two up to 64.

    Raises
    ------
    ValueError
        If `machine` is not supported.
    """
    name = this_machine() if machine is None else machine
    if name not in _MACHINES:
        known = " and ".join(_MACHINES)
        raise ValueError(f"object files can be written for {known}, not for {name}")
    number, protection = _MACHINES[name]
    size = sum(map(len, parts))
    content_end = _HEADER.size + size
    tail = _Tail(content_end)
    symbols = [_Symbol(symbol, _STT_OBJECT, 0, size)]
    if end_symbol is not None:
        symbols.append(_Symbol(end_symbol, _STT_NOTYPE, size, 0))
    sections = _sections(tail, symbols, size, alignment, protection)
    table_at = tail.append(b"".join(sections), 8)
    file.write(_header(number, table_at, len(sections)))
    for part in parts:
        file.write(part)
    file.write(tail.content)


class _Symbol(NamedTuple):
    name: str
    kind: int
    value: int
    size: int


@dataclass
class _Tail:
    """The part of an object file that follows the constant bytes: small sections and headers."""

    begin: int  # offset of the first byte of the tail in the object file
    content: bytes = b""

    def append(self, piece: bytes, alignment: int) -> int:
        """Append a piece with an alignment in bytes; return its offset in the object file."""
        end = self.begin + len(self.content)
        self.content += bytes(-end % alignment) + piece
        return self.begin + len(self.content) - len(piece)


def _header(machine: int, sections_at: int, count: int) -> bytes:
    """Return the ELF header of a file whose last section contains the section names."""
    before = (_IDENTITY, ET_REL, machine, 1, 0, 0, sections_at, 0, _HEADER.size, 0, 0)
    return _HEADER.pack(*before, _SECTION.size, count, count - 1)


def _sections(
    tail: _Tail, symbols: Sequence[_Symbol], size: int, alignment: int, protection: int
) -> list[bytes]:
    """Return the section headers; append the contents of the other small sections to the tail."""
    names = [".rodata", ".note.gnu.property", ".note.GNU-stack", ".symtab", ".strtab", ".shstrtab"]
    name_table = b"\0" + b"".join(name.encode() + b"\0" for name in names)
    at = {name: name_table.index(b"\0" + name.encode() + b"\0") + 1 for name in names}
    symbol_table, strings = _tables(symbols)
    note = struct.pack("<III4sIIII", 4, 16, 5, b"GNU", protection, 4, _ALL_PROTECTION, 0)

    def small(
        name: str,
        kind: int,
        content: bytes,
        alignment: int,
        flags: int = 0,
        entries: tuple[int, int, int] = (0, 0, 0),
    ) -> bytes:
        link, info, entry_size = entries
        location = (flags, 0, tail.append(content, alignment), len(content))
        return _SECTION.pack(at[name], kind, *location, link, info, alignment, entry_size)

    data_location = (_SHF_ALLOC, 0, _HEADER.size, size)
    return [
        bytes(_SECTION.size),
        _SECTION.pack(at[".rodata"], _SHT_PROGBITS, *data_location, 0, 0, alignment, 0),
        small(".note.gnu.property", _SHT_NOTE, note, 8, _SHF_ALLOC),
        small(".note.GNU-stack", _SHT_PROGBITS, b"", 1),
        # The symbol names are in section 5 (.strtab); symbol 1 is the first global symbol.
        small(".symtab", _SHT_SYMTAB, symbol_table, 8, entries=(5, 1, _SYMBOL.size)),
        small(".strtab", _SHT_STRTAB, strings, 1),
        small(".shstrtab", _SHT_STRTAB, name_table, 1),
    ]


def _tables(symbols: Sequence[_Symbol]) -> tuple[bytes, bytes]:
    """Return the contents of the symbol table and of its string table.

    The symbols are in section 1, ``.rodata``.  Symbol 0 is the null symbol that ELF requires.
    """
    table, names = bytes(_SYMBOL.size), b"\0"
    for symbol in symbols:
        binding = _STB_GLOBAL << 4 | symbol.kind
        table += _SYMBOL.pack(len(names), binding, 0, 1, symbol.value, symbol.size)
        names += symbol.name.encode() + b"\0"
    return table, names
