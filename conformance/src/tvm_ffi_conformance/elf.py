# SPDX-License-Identifier: Apache-2.0
"""ELF reader: header, dynamic section and symbols of a 64-bit shared library, without loading it.

Every offset is checked against the file, because the file may be damaged or made to mislead.
"""

from __future__ import annotations

import platform
import struct
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

MACHINES = {
    3: "i386",
    40: "arm",
    62: "x86_64",
    183: "aarch64",
    243: "riscv64",
    21: "ppc64",
    22: "s390x",
}
PT_DYNAMIC, PT_GNU_STACK, PT_LOAD = 2, 0x6474E551, 1
DT_NEEDED, DT_STRTAB, DT_SYMTAB, DT_RPATH, DT_SONAME = 1, 5, 6, 15, 14
DT_TEXTREL, DT_FLAGS, DT_RUNPATH, DT_INIT = 22, 30, 29, 12
DF_TEXTREL = 4
SHT_DYNSYM = 11
_MOST_SYMBOLS = 1_000_000


class NotLoadable(ValueError):  # noqa: N818
    """A file that this process cannot load as a shared library."""


def machine_name(number: int) -> str:
    """Return the name of an ELF machine number."""
    return MACHINES.get(number, f"machine {number}")


class Header(NamedTuple):
    """Facts of the ELF header."""

    bits: int
    little: bool
    kind: int  # 3: shared library
    machine: int

    def check_loadable(self) -> None:
        """Raise `NotLoadable` unless this machine loads such files."""
        if self.kind != 3:
            raise NotLoadable(f"expected a shared library, got an ELF file of type {self.kind}")
        name = machine_name(self.machine)
        if self.bits != 64 or not self.little or name != platform.machine():
            raise NotLoadable(
                f"expected a library for {platform.machine()}, got one for {name}, {self.bits} bits"
            )


def read_header(path: str | Path) -> Header:
    """Return the ELF header of a file; raise `NotLoadable` for other files."""
    try:
        with Path(path).open("rb") as stream:
            start = stream.read(20)
    except OSError as error:
        raise NotLoadable(f"{path}: {error.strerror}") from None
    if len(start) < 20 or start[:4] != b"\x7fELF":
        raise NotLoadable(f"{path}: expected an ELF shared library, got another file")
    little = start[5] == 1
    kind, machine = struct.unpack("<HH" if little else ">HH", start[16:20])
    return Header({1: 32, 2: 64}.get(start[4], 0), little, kind, machine)


@dataclass(frozen=True)
class Symbol:
    """One dynamic symbol."""

    name: str
    value: int
    size: int
    defined: bool
    kind: int  # 1: data, 2: function
    binding: int  # 1: global, 2: weak, 10: unique
    visible: bool


class LibraryFile:
    """A 64-bit little-endian shared library.

    Parameters
    ----------
    path : str or Path
        The file.

    Raises
    ------
    NotLoadable
        If the file is not such a library or its tables are damaged.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self.header = read_header(path)
        if self.header.bits != 64 or not self.header.little:
            raise NotLoadable(f"{path}: expected a 64-bit little-endian library")
        self.content = Path(path).read_bytes()
        (self._phoff,) = self._unpack("<Q", 32)
        self._phentsize, self._phnum = self._unpack("<HH", 54)
        self.segments = [
            self._unpack("<IIQQQQQQ", self._phoff + number * self._phentsize)
            for number in range(self._phnum)
        ]

    def _unpack(self, layout: str, offset: int) -> tuple:
        try:
            return struct.unpack_from(layout, self.content, offset)
        except struct.error:
            raise NotLoadable(f"{self.path}: damaged: no data at offset {offset}") from None

    def offset(self, address: int) -> int:
        """Return the file offset of a virtual address."""
        for kind, _, offset, start, _, size, _, _ in self.segments:
            if kind == PT_LOAD and start <= address < start + size:
                return offset + address - start
        raise NotLoadable(f"{self.path}: damaged: address {address:#x} is in no segment")

    def data(self, address: int, size: int) -> bytes:
        """Return bytes at a virtual address."""
        offset = self.offset(address)
        return self.content[offset : offset + size]

    @cached_property
    def dynamic(self) -> list[tuple[int, int]]:
        """Entries of the dynamic section: tag and value."""
        entries: list[tuple[int, int]] = []
        for kind, _, offset, _, _, size, _, _ in self.segments:
            if kind == PT_DYNAMIC:
                for position in range(offset, min(offset + size, len(self.content)), 16):
                    tag, value = self._unpack("<qQ", position)
                    if tag == 0:
                        break
                    entries.append((tag, value))
        return entries

    def _tag(self, tag: int) -> list[int]:
        return [value for each, value in self.dynamic if each == tag]

    def _name(self, position: int) -> str:
        table = self._tag(DT_STRTAB)
        if not table:
            raise NotLoadable(f"{self.path}: damaged: no string table")
        start = self.offset(table[0]) + position
        end = self.content.find(b"\0", start)
        return self.content[start : end if end >= 0 else start].decode("utf-8", "replace")

    @property
    def soname(self) -> str | None:
        """DT_SONAME, or None."""
        names = [self._name(value) for value in self._tag(DT_SONAME)]
        return names[0] if names else None

    @property
    def needed(self) -> list[str]:
        """DT_NEEDED entries."""
        return [self._name(value) for value in self._tag(DT_NEEDED)]

    @property
    def executable_stack(self) -> bool:
        """True if the library asks for an executable stack."""
        flags = [segment[1] for segment in self.segments if segment[0] == PT_GNU_STACK]
        return not flags or bool(flags[0] & 1)

    @property
    def text_relocations(self) -> bool:
        """True if relocations write to read-only segments."""
        return bool(self._tag(DT_TEXTREL)) or any(
            value & DF_TEXTREL for value in self._tag(DT_FLAGS)
        )

    @cached_property
    def symbols(self) -> list[Symbol]:
        """Dynamic symbols, without the null symbol."""
        count = self._symbol_count()
        table = self._tag(DT_SYMTAB)
        if not table or not count:
            return []
        start = self.offset(table[0])
        found = []
        for number in range(1, min(count, _MOST_SYMBOLS)):
            name, info, other, section, value, size = self._unpack("<IBBHQQ", start + 24 * number)
            found.append(
                Symbol(
                    self._name(name),
                    value,
                    size,
                    section != 0,
                    info & 15,
                    info >> 4,
                    other & 3 in (0, 3),
                )
            )
        return found

    def _symbol_count(self) -> int:
        """Return the number of dynamic symbols, from the hash tables."""
        classic = self._tag(4)
        if classic:
            return int(self._unpack("<II", self.offset(classic[0]))[1])
        gnu = self._tag(0x6FFFFEF5)
        if not gnu:
            return 0
        start = self.offset(gnu[0])
        buckets, first, bloom, _ = self._unpack("<IIII", start)
        table = start + 16 + 8 * bloom
        if buckets > _MOST_SYMBOLS or bloom > _MOST_SYMBOLS:
            raise NotLoadable(f"{self.path}: damaged hash table")
        last = max(self._unpack(f"<{buckets}I", table), default=0)
        if last < first:
            return first
        chain = table + 4 * buckets
        while not self._unpack("<I", chain + 4 * (last - first))[0] & 1:
            last += 1
        return last + 1

    @cached_property
    def exported(self) -> dict[str, Symbol]:
        """Defined, visible symbols by name."""
        return {each.name: each for each in self.symbols if each.defined and each.visible}

    @cached_property
    def undefined(self) -> list[str]:
        """Names of undefined symbols."""
        return sorted({each.name for each in self.symbols if not each.defined})
