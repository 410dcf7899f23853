# SPDX-License-Identifier: Apache-2.0
"""The header of an ELF file: what kind of file it is, for which machine, where its sections are.

Source: System V ABI, chapter 4.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass

from .._internal.regular_file import open_regular

MAGIC = b"\x7fELF"
ET_REL, ET_EXEC, ET_DYN, ET_CORE = 1, 2, 3, 4
HEADER_SIZE = 64  # bytes of the longer one, on 64-bit machines
_HEADER_SIZES = {32: 52, 64: HEADER_SIZE}
# Names of machines by number; others go by their number.
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
    """The beginning of an ELF file."""

    bits: int
    is_little_endian: bool
    kind: int
    """One of `ET_REL`, `ET_EXEC`, `ET_DYN`, `ET_CORE`."""
    machine: int
    sections_at: int
    section_size: int
    num_sections: int
    names_section: int

    @property
    def machine_name(self) -> str:
        """What the machine is called: ``x86_64``; its number when it is a rare one."""
        return _MACHINES.get(self.machine, str(self.machine))


def parse_header(start: bytes) -> Header | str:
    """Return the header of an ELF file, given its first 64 bytes, or what is wrong with it."""
    if len(start) < 6:
        return f"it ends at byte {len(start)}"
    bits, order = {1: 32, 2: 64}.get(start[4]), {1: "<", 2: ">"}.get(start[5])
    if bits is None:
        return f"class {start[4]}, expected 1 or 2"
    if order is None:
        return f"order of bytes {start[5]}, expected 1 or 2"
    if len(start) < _HEADER_SIZES[bits]:
        return f"its header ends at byte {len(start)}, expected {_HEADER_SIZES[bits]}"
    layout = struct.Struct(order + ("HHIQQQIHHHHHH" if bits == 64 else "HHIIIIIHHHHHH"))
    kind, machine, *_, sections_at, _, _, _, _, size, count, names = layout.unpack_from(start, 16)
    return Header(bits, order == "<", kind, machine, sections_at, size, count, names)


def read_header(path: str | os.PathLike[str]) -> Header | None:
    """Return the header of a file; None when it is no ELF file."""
    with open_regular(path) as file:
        start = file.read(HEADER_SIZE)
    header = parse_header(start) if start[:4] == MAGIC else None
    return header if isinstance(header, Header) else None
