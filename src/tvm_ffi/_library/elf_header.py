# SPDX-License-Identifier: Apache-2.0
"""ELF file headers: file type, machine, and offset of the section header table.

Source: System V ABI, chapter 4.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass

from .._internal.regular_file import open_regular

MAGIC = b"\x7fELF"
ET_REL, ET_EXEC, ET_DYN, ET_CORE = 1, 2, 3, 4
# Size in bytes of the header of a 64-bit file; the header of a 32-bit file is shorter.
HEADER_SIZE = 64
_HEADER_SIZES = {32: 52, 64: HEADER_SIZE}
# Names of machines by ELF machine number; other machines are named by their number.
_MACHINES = {
    3: "386",
    8: "mips",
    20: "ppc",
    21: "ppc64",
    22: "s390",
    40: "arm",
    62: "x86_64",
    183: "aarch64",
    243: "riscv",
    258: "loongarch",
}


@dataclass(frozen=True)
class Header:
    """Fields of an ELF header."""

    bits: int
    is_little_endian: bool
    kind: int
    """File type: `ET_REL`, `ET_EXEC`, `ET_DYN` or `ET_CORE`."""
    machine: int
    sections_at: int
    """Offset of the section header table."""
    section_size: int
    """Bytes per entry of the section header table."""
    num_sections: int
    names_section: int
    """Index of the section with the section names."""

    @property
    def machine_name(self) -> str:
        """Name of the machine, such as ``x86_64``; its number for rare machines."""
        return _MACHINES.get(self.machine, str(self.machine))


def parse_header(start: bytes) -> Header | str:
    """Return the header from the first 64 bytes of an ELF file, or an error message (str)."""
    if len(start) < 6:
        return f"the file ends at byte {len(start)}"
    bits, order = {1: 32, 2: 64}.get(start[4]), {1: "<", 2: ">"}.get(start[5])
    if bits is None:
        return f"expected ELF class 1 or 2, got {start[4]}"
    if order is None:
        return f"expected ELF data encoding 1 or 2, got {start[5]}"
    if len(start) < _HEADER_SIZES[bits]:
        return f"expected a header of {_HEADER_SIZES[bits]} bytes, got {len(start)} bytes"
    layout = struct.Struct(order + ("HHIQQQIHHHHHH" if bits == 64 else "HHIIIIIHHHHHH"))
    kind, machine, *_, sections_at, _, _, _, _, size, count, names = layout.unpack_from(start, 16)
    return Header(bits, order == "<", kind, machine, sections_at, size, count, names)


def read_header(path: str | os.PathLike[str]) -> Header | None:
    """Return the header of a file; None if it is not an ELF file."""
    with open_regular(path) as file:
        start = file.read(HEADER_SIZE)
    header = parse_header(start) if start[:4] == MAGIC else None
    return header if isinstance(header, Header) else None
