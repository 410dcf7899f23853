# SPDX-License-Identifier: Apache-2.0
"""A shared library as its file shows it: sections, dynamic symbols, needed versions, addresses.

The file may come from anywhere.  It is read and never run; whatever it contains, reading ends in
an answer or in `LibraryFileError`, in time and memory that its size bounds.  Source: System V ABI,
chapters 4 and 5, and the supplements of the machines.
"""

from __future__ import annotations

import bisect
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from .._internal.regular_file import NotRegularError, open_regular
from .elf_header import ET_CORE, ET_DYN, ET_EXEC, ET_REL, HEADER_SIZE, MAGIC, Header, parse_header
from .file_bytes import FileBytes

_MAX_TEXT = 1 << 20  # bytes of one documentation text
_MAX_NAME = 1 << 16
_MAX_SYMBOLS = 1_000_000
_MAX_ADDRESSES = 1_000_000  # in a table
_MAX_RELOCATIONS = 10_000_000
# Linkers let texts share their ends; texts that overlap more than this many times in the mean are
# an attempt to take time.
_MAX_OVERLAP = 16
# Sections share no bytes, but for a table or two that linkers let overlap; more than this many
# times the file in all is an attempt to take time.
_MAX_SHARED = 2

_SHN_UNDEF = 0
_SHN_LORESERVE = 0xFF00
_STB_WEAK = 2
_DT_NEEDED, _DT_SONAME, _DT_RPATH, _DT_RUNPATH = 1, 14, 15, 29
# Relocations that add the load address to a number, by machine.
_RELATIVE = {
    "x86_64": 8,
    "aarch64": 1027,
    "riscv": 3,
    "ppc64": 22,
    "s390": 12,
    "loongarch": 3,
}

_KINDS = {ET_REL: "an object file", ET_EXEC: "a program", ET_CORE: "a core dump"}
SHT_NULL, SHT_PROGBITS, SHT_STRTAB, SHT_RELA = 0, 1, 3, 4
SHT_DYNAMIC, SHT_NOBITS, SHT_DYNSYM = 6, 8, 11
SHT_GNU_VERNEED = 0x6FFFFFFE
_WITHOUT_BYTES = (SHT_NULL, SHT_NOBITS)


class LibraryFileError(ValueError):
    """A file that cannot be read as a shared library; the message names file and place."""


@dataclass(frozen=True)
class Section:
    """A row of the table of sections."""

    name: str
    kind: int
    """One of `SHT_PROGBITS` and its like."""
    address: int
    offset: int
    size: int
    link: int
    """Index of the section that it refers to."""

    @property
    def has_bytes(self) -> bool:
        """Whether the file has its contents."""
        return self.kind not in _WITHOUT_BYTES


@dataclass(frozen=True)
class Symbol:
    """A dynamic symbol."""

    name: str
    address: int
    size: int
    is_defined: bool
    is_weak: bool


@contextmanager
def open_image(path: str | os.PathLike[str]) -> Iterator[Image]:
    """Open a library for the duration of a block.

    Raises
    ------
    OSError
        If there is no such file, or it may not be read; in the block, if it becomes shorter.
    LibraryFileError
        If it is no shared library.
    """
    try:
        file = open_regular(path)
    except NotRegularError as error:
        raise LibraryFileError(f"{path}: {error.strerror}") from error
    with file:
        data = FileBytes(file)
        if len(data) == 0:
            raise LibraryFileError(f"{path}: the file is empty")
        yield Image(str(path), data)


class Image:
    """The contents of a library.

    Attributes
    ----------
    machine : str
        ``x86_64``, ``aarch64``; the number of the ELF standard for rare ones.
    bits : int
        32 or 64, the width of addresses.
    is_little_endian : bool
        The order of bytes.
    sections : list of Section
        Those with bytes in the file, in the order of the file's table.
    """

    def __init__(self, path: str, data: FileBytes | bytes) -> None:
        self.path = path
        self.data = data
        if data[:4] != MAGIC:
            raise self.error(0, f"not an ELF file: it begins with {data[:4]!r}")
        header = self._header()
        if header.kind != ET_DYN:
            what = _KINDS.get(header.kind, f"a file of type {header.kind}")
            raise self.error(16, f"{what}, not a shared library")
        self.machine = header.machine_name
        self._word = struct.Struct(self._order + "Q")
        self._all_sections = self._read_sections(header)
        self.sections = [entry for entry in self._all_sections if entry.has_bytes]
        self._by_address = sorted(
            (section for section in self.sections if section.address),
            key=lambda section: section.address,
        )
        self._text_budget = _MAX_OVERLAP * len(data)
        self._addresses = [section.address for section in self._by_address]

    def error(self, offset: int, problem: str) -> LibraryFileError:
        """Return an error about a place in the file."""
        return LibraryFileError(f"{self.path}: byte {offset}: {problem}")

    def section(self, name: str) -> Section | None:
        """Return the first section of a name."""
        return next((found for found in self.sections if found.name == name), None)

    def bytes_of(self, section: Section) -> bytes:
        """Return the contents of a section."""
        return self.data[section.offset : section.offset + section.size]

    # ---- Sections -------------------------------------------------------------------------

    def _header(self) -> Header:
        header = parse_header(self.data[:HEADER_SIZE])
        if isinstance(header, str):
            raise self.error(min(4, len(self.data)), f"malformed ELF: {header}")
        self.bits, self.is_little_endian = header.bits, header.is_little_endian
        self._order = "<" if header.is_little_endian else ">"
        return header

    def _read_sections(self, header: Header) -> list[Section]:
        start, count, entry = header.sections_at, header.num_sections, header.section_size
        layout = struct.Struct(self._order + ("IIQQQQIIQQ" if self.bits == 64 else "10I"))
        if start == 0 or count == 0:
            raise self.error(0, "no section headers: the file was stripped of them")
        if entry != layout.size:
            raise self.error(0, f"section headers of {entry} bytes, expected {layout.size}")
        if start > len(self.data) or count * entry > len(self.data) - start:
            raise self.error(
                start, f"{count} section headers do not fit into a file of {len(self.data)} bytes"
            )
        which = header.names_section
        if which >= count:
            raise self.error(0, f"section {which} with the names, but there are {count} sections")
        rows = list(layout.iter_unpack(self.data[start : start + count * entry]))
        self._check_overlap(start, rows)
        names = _Names(self, self._section(which, "", rows[which]))
        return [self._section(i, names.text(row[0]), row) for i, row in enumerate(rows)]

    def _check_overlap(self, start: int, rows: list[tuple[int, ...]]) -> None:
        total = sum(row[5] for row in rows if row[1] not in _WITHOUT_BYTES)
        if total > _MAX_SHARED * len(self.data):
            raise self.error(
                start, f"sections of {total} bytes overlap in a file of {len(self.data)}"
            )

    def _section(self, index: int, name: str, row: tuple[int, ...]) -> Section:
        _, kind, _, address, offset, size, link, *_ = row
        section = Section(name, kind, address, offset, size, link)
        if section.has_bytes and offset + size > len(self.data):
            end = offset + size
            raise self.error(
                offset,
                f"section {index} ({name!r}) ends at byte {end} of a file of {len(self.data)}",
            )
        return section

    # ---- Symbols --------------------------------------------------------------------------

    def symbols(self) -> list[Symbol]:
        """Return the dynamic symbols."""
        table = next((entry for entry in self.sections if entry.kind == SHT_DYNSYM), None)
        if table is None:
            return []
        names = self._names_of(table)
        layout = struct.Struct(self._order + ("IBBHQQ" if self.bits == 64 else "IIIBBH"))
        if table.size // layout.size > _MAX_SYMBOLS:
            raise self.error(table.offset, f"more than {_MAX_SYMBOLS} dynamic symbols")
        found = []
        for fields in _unpack_all(layout, self.bytes_of(table)):
            if self.bits == 64:
                name, info, _, index, address, size = fields
            else:
                name, address, size, info, _, index = fields
            if name:
                is_defined = index != _SHN_UNDEF and index < _SHN_LORESERVE
                is_weak = info >> 4 == _STB_WEAK
                found.append(Symbol(names.text(name), address, size, is_defined, is_weak))
        return found

    def _names_of(self, section: Section) -> _Names:
        """Return the string table that a section refers to."""
        if section.link < len(self._all_sections):
            linked = self._all_sections[section.link]
            if linked.kind == SHT_STRTAB:
                return _Names(self, linked)
        raise self.error(section.offset, f"section {section.name!r} has no string table")

    # ---- Dynamic section ------------------------------------------------------------------

    def dynamic_texts(self) -> dict[str, list[str]]:
        """Return the texts of the dynamic section: ``needed``, ``soname``, ``runpath``."""
        texts: dict[str, list[str]] = {"needed": [], "soname": [], "runpath": []}
        table = next((entry for entry in self.sections if entry.kind == SHT_DYNAMIC), None)
        if table is None:
            return texts
        names = self._names_of(table)
        keys = {
            _DT_NEEDED: "needed",
            _DT_SONAME: "soname",
            _DT_RPATH: "runpath",
            _DT_RUNPATH: "runpath",
        }
        layout = struct.Struct(self._order + ("qQ" if self.bits == 64 else "iI"))
        for tag, value in _unpack_all(layout, self.bytes_of(table)):
            if tag == 0:
                break
            if tag in keys:
                texts[keys[tag]].append(names.text(value))
        return texts

    def version_needs(self) -> list[str]:
        """Return the symbol versions that other libraries must have, such as ``GLIBC_2.34``."""
        table = next((entry for entry in self.sections if entry.kind == SHT_GNU_VERNEED), None)
        if table is None:
            return []
        names = self._names_of(table)
        library, version = (
            struct.Struct(self._order + "HHIII"),
            struct.Struct(self._order + "IHHII"),
        )
        found: dict[int, str] = {}
        offset = 0
        left = table.size // version.size  # entries share no bytes
        while True:
            _, count, _, first, step = self._unpack(library, table, offset)
            at = offset + first
            left -= 1 + count
            if left < 0:
                raise self.error(table.offset + offset, f"more entries than {table.name!r} has")
            for _ in range(count):
                _, _, _, name, next_version = self._unpack(version, table, at)
                if name not in found:
                    found[name] = names.text(name)
                if next_version == 0:
                    break
                at += next_version
            if step == 0:
                break
            offset += step  # always forward: the table ends
        return list(found.values())

    def _unpack(self, layout: struct.Struct, section: Section, offset: int) -> tuple[Any, ...]:
        if offset > section.size - layout.size:
            raise self.error(
                section.offset + section.size, f"section {section.name!r} ends within an entry"
            )
        start = section.offset + offset
        return layout.unpack(self.data[start : start + layout.size])

    # ---- Addresses ------------------------------------------------------------------------

    def offset_of(self, address: int) -> int | None:
        """Return where in the file the bytes at an address are; None when they are in none."""
        found = self._section_at(address)
        return None if found is None else found.offset + address - found.address

    def bytes_left_at(self, address: int) -> int:
        """Return how many bytes the section at an address has from there on."""
        found = self._section_at(address)
        return 0 if found is None else found.address + found.size - address

    def _section_at(self, address: int) -> Section | None:
        at = bisect.bisect_right(self._addresses, address) - 1
        if at < 0:
            return None
        section = self._by_address[at]
        return section if address < section.address + section.size else None

    def text_at(self, address: int) -> str | None:
        """Return the NUL-terminated UTF-8 text at an address; None when there is none.

        None as well when the texts asked for overlap too much.
        """
        start = self.offset_of(address)
        if start is None or self._text_budget < 0:
            return None
        last = start + min(self.bytes_left_at(address), _MAX_TEXT)
        end = self.data.find(b"\0", start, last)
        self._text_budget -= (last if end < 0 else end) - start
        if end < 0 or self._text_budget < 0:
            return None
        try:
            return self.data[start:end].decode("utf-8")
        except UnicodeDecodeError:
            return None

    def addresses_in(self, section: Section) -> list[int]:
        """Return a section as a table of addresses, as the loader completes it; 0 if it is not."""
        if self.bits != 64:
            return []
        if section.size // 8 > _MAX_ADDRESSES:
            raise self.error(section.offset, f"more than {_MAX_ADDRESSES} rows of {section.name!r}")
        addresses = [value for (value,) in _unpack_all(self._word, self.bytes_of(section))]
        end = section.address + 8 * len(addresses)
        for place, value in self._relative_relocations():
            if section.address <= place < end and (place - section.address) % 8 == 0:
                addresses[(place - section.address) // 8] = value
        return addresses

    def _relative_relocations(self) -> Iterator[tuple[int, int]]:
        """Return place and value of each number that the load address is added to.

        Those packed as DT_RELR have their value in place.
        """
        layout = struct.Struct(self._order + "QQq")
        for table in self.sections:
            if table.kind == SHT_RELA and table.size // layout.size > _MAX_RELOCATIONS:
                raise self.error(table.offset, f"more than {_MAX_RELOCATIONS} relocations")
            if table.kind == SHT_RELA:
                for place, info, addend in _unpack_all(layout, self.bytes_of(table)):
                    if info == _RELATIVE.get(self.machine):
                        yield place, addend

    # ---- Searching ------------------------------------------------------------------------

    def places(self, pattern: bytes, section: Section) -> Iterator[int]:
        """Return where a pattern begins in a section, as places in the file."""
        end = section.offset + section.size
        at = self.data.find(pattern, section.offset, end)
        while at >= 0:
            yield at
            at = self.data.find(pattern, at + len(pattern), end)

    def contains_text(self, text: str) -> bool:
        """Whether the read-only data have a text, from its beginning to the NUL behind it."""
        pattern = b"\0" + text.encode() + b"\0"
        return any(
            self.data.find(pattern, section.offset, section.offset + section.size) >= 0
            for section in self.sections
            if section.name.startswith(".rodata")
        )


class _Names:
    """A string table."""

    def __init__(self, image: Image, section: Section) -> None:
        self._image = image
        self._section = section
        self._bytes = image.bytes_of(section)
        self._budget = _MAX_OVERLAP * len(self._bytes) + _MAX_NAME

    def text(self, offset: int) -> str:
        """Return the text at an offset; raises LibraryFileError when it is not in the table."""
        end = self._bytes.find(b"\0", offset, offset + _MAX_NAME)
        self._budget -= end - offset
        if end < 0 or self._budget < 0:
            raise self._image.error(
                self._section.offset + offset,
                f"no name at {offset} of the {len(self._bytes)} bytes of {self._section.name!r}",
            )
        return self._bytes[offset:end].decode("utf-8", "backslashreplace")


def _unpack_all(layout: struct.Struct, data: bytes) -> Iterator[tuple[Any, ...]]:
    """Return the entries of a table; an incomplete one at the end is left out."""
    return layout.iter_unpack(data[: len(data) // layout.size * layout.size])
