# SPDX-License-Identifier: Apache-2.0
"""Reader of ELF shared libraries: sections, dynamic symbols, required versions, addresses.

The file is untrusted and is not executed.  A malformed file raises `LibraryFileError`; time and
memory are bounded by the file size.  Source: System V ABI, chapters 4 and 5, and the processor
supplements.
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

# Maximum bytes per string in a data section, such as the documentation of a function.
_MAX_TEXT = 1 << 20
_MAX_NAME = 1 << 16  # maximum bytes per name in a string table
_MAX_SYMBOLS = 1_000_000
_MAX_ADDRESSES = 1_000_000  # maximum number of addresses in a section that is an array of addresses
_MAX_RELOCATIONS = 10_000_000
# Limit of the total length of the strings of a table as a multiple of the table's size.  Linkers
# let strings share suffixes, so the strings may be longer than the table.  A file beyond the limit
# is refused, because reading the strings would take quadratic time.
_MAX_OVERLAP = 16
# Limit of the total size of the sections as a multiple of the file size.  A file beyond the limit
# is refused, because few sections overlap in real files.
_MAX_SHARED = 2

_SHN_UNDEF = 0
_SHN_LORESERVE = 0xFF00
_STB_WEAK = 2
_DT_NEEDED, _DT_SONAME, _DT_RPATH, _DT_RUNPATH = 1, 14, 15, 29
# By machine, the number of the relocation type R_*_RELATIVE, which adds the load address to an
# addend.
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
    """The file is not a well-formed shared library; the message has the path and the offset."""


@dataclass(frozen=True)
class Section:
    """A section of an ELF file, as its header describes it."""

    name: str
    kind: int
    """Section type, such as `SHT_PROGBITS`."""
    address: int
    offset: int
    size: int
    link: int
    """Index of a related section: for a symbol table, the section with the symbol names."""

    @property
    def has_bytes(self) -> bool:
        """True if the file contains the section's bytes."""
        return self.kind not in _WITHOUT_BYTES


@dataclass(frozen=True)
class Symbol:
    """A symbol of the dynamic symbol table."""

    name: str
    address: int
    size: int
    is_defined: bool
    is_weak: bool


@contextmanager
def open_image(path: str | os.PathLike[str]) -> Iterator[Image]:
    """Open a library for reading, as a context manager.

    Raises
    ------
    OSError
        If the file cannot be opened; or, within the ``with`` block, if another process truncates
        the file.
    LibraryFileError
        If the file is not a shared library.
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
    """The sections, symbols and bytes of an ELF library file.

    Attributes
    ----------
    machine : str
        Name of the machine, such as ``x86_64``; the ELF machine number as a str for rare machines.
    bits : int
        Width of addresses: 32 or 64.
    is_little_endian : bool
        True if numbers in the file are little-endian.
    sections : list of Section
        Sections with bytes in the file, in the order of the section header table.
    """

    def __init__(self, path: str, data: FileBytes | bytes) -> None:
        self.path = path
        self.data = data
        if data[:4] != MAGIC:
            raise self.error(0, f"expected an ELF file, got a file that begins with {data[:4]!r}")
        header = self._header()
        if header.kind != ET_DYN:
            kind = _KINDS.get(header.kind, f"a file of type {header.kind}")
            raise self.error(16, f"expected a shared library, got {kind}")
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
        """Return a `LibraryFileError` whose message has the path of the file and an offset."""
        return LibraryFileError(f"{self.path}: byte {offset}: {problem}")

    def section(self, name: str) -> Section | None:
        """Return the first section with this name; None if no section has the name."""
        return next((found for found in self.sections if found.name == name), None)

    def bytes_of(self, section: Section) -> bytes:
        """Return the contents of a section."""
        return self.data[section.offset : section.offset + section.size]

    # ---- Sections -------------------------------------------------------------------------

    def _header(self) -> Header:
        header = parse_header(self.data[:HEADER_SIZE])
        if isinstance(header, str):
            raise self.error(min(4, len(self.data)), f"malformed ELF header: {header}")
        self.bits, self.is_little_endian = header.bits, header.is_little_endian
        self._order = "<" if header.is_little_endian else ">"
        return header

    def _read_sections(self, header: Header) -> list[Section]:
        start, count, entry = header.sections_at, header.num_sections, header.section_size
        layout = struct.Struct(self._order + ("IIQQQQIIQQ" if self.bits == 64 else "10I"))
        if start == 0 or count == 0:
            raise self.error(0, "the file has no section headers; a tool has stripped them")
        if entry != layout.size:
            raise self.error(
                0, f"expected section headers of {layout.size} bytes, got {entry} bytes"
            )
        if start > len(self.data) or count * entry > len(self.data) - start:
            raise self.error(
                start, f"{count} section headers do not fit into a file of {len(self.data)} bytes"
            )
        names_at = header.names_section
        if names_at >= count:
            raise self.error(
                0,
                f"the section names are in section {names_at}, but there are only {count} sections",
            )
        rows = list(layout.iter_unpack(self.data[start : start + count * entry]))
        self._check_overlap(start, rows)
        names = _StringTable(self, self._section(names_at, "", rows[names_at]))
        return [self._section(i, names.text(row[0]), row) for i, row in enumerate(rows)]

    def _check_overlap(self, start: int, rows: list[tuple[int, ...]]) -> None:
        total = sum(row[5] for row in rows if row[1] not in _WITHOUT_BYTES)
        if total > _MAX_SHARED * len(self.data):
            raise self.error(
                start,
                f"the sections overlap: they have {total} bytes in a file of "
                f"{len(self.data)} bytes",
            )

    def _section(self, index: int, name: str, row: tuple[int, ...]) -> Section:
        _, kind, _, address, offset, size, link, *_ = row
        section = Section(name, kind, address, offset, size, link)
        if section.has_bytes and offset + size > len(self.data):
            end = offset + size
            raise self.error(
                offset,
                f"section {index} ({name!r}) ends at byte {end}, but the file has "
                f"{len(self.data)} bytes",
            )
        return section

    # ---- Symbols --------------------------------------------------------------------------

    def symbols(self) -> list[Symbol]:
        """Return the symbols of the dynamic symbol table, in table order."""
        table = next((entry for entry in self.sections if entry.kind == SHT_DYNSYM), None)
        if table is None:
            return []
        names = self._names_of(table)
        layout = struct.Struct(self._order + ("IBBHQQ" if self.bits == 64 else "IIIBBH"))
        if table.size // layout.size > _MAX_SYMBOLS:
            raise self.error(
                table.offset, f"the library has more than {_MAX_SYMBOLS} dynamic symbols"
            )
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

    def _names_of(self, section: Section) -> _StringTable:
        """Return the string table with the names in a section, such as a symbol table."""
        if section.link < len(self._all_sections):
            linked = self._all_sections[section.link]
            if linked.kind == SHT_STRTAB:
                return _StringTable(self, linked)
        raise self.error(section.offset, f"section {section.name!r} has no string table")

    # ---- Dynamic section ------------------------------------------------------------------

    def dynamic_texts(self) -> dict[str, list[str]]:
        """Return the strings of the dynamic section by key: ``needed``, ``soname``, ``runpath``."""
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
        """Return the symbol versions that the library requires, such as ``GLIBC_2.34``."""
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
        # Entries do not overlap, so the size of the section limits their number.
        left = table.size // version.size
        while True:
            _, count, _, first, step = self._unpack(library, table, offset)
            at = offset + first
            left -= 1 + count
            if left < 0:
                raise self.error(
                    table.offset + offset,
                    f"section {table.name!r} links more entries than the section has",
                )
            for _ in range(count):
                _, _, _, name, next_version = self._unpack(version, table, at)
                if name not in found:
                    found[name] = names.text(name)
                if next_version == 0:
                    break
                at += next_version
            if step == 0:
                break
            offset += step  # the loop terminates, because the step is always positive
        return list(found.values())

    def _unpack(self, layout: struct.Struct, section: Section, offset: int) -> tuple[Any, ...]:
        if offset > section.size - layout.size:
            raise self.error(
                section.offset + section.size, f"the section {section.name!r} ends within an entry"
            )
        start = section.offset + offset
        return layout.unpack(self.data[start : start + layout.size])

    # ---- Addresses and relocations --------------------------------------------------------

    def offset_of(self, address: int) -> int | None:
        """Return the file offset of an address; None if no section contains the address."""
        found = self._section_at(address)
        return None if found is None else found.offset + address - found.address

    def bytes_left_at(self, address: int) -> int:
        """Return the number of bytes from an address to the end of the section that contains it.

        Return 0 if no section contains the address.
        """
        found = self._section_at(address)
        return 0 if found is None else found.address + found.size - address

    def _section_at(self, address: int) -> Section | None:
        at = bisect.bisect_right(self._addresses, address) - 1
        if at < 0:
            return None
        section = self._by_address[at]
        return section if address < section.address + section.size else None

    def text_at(self, address: int) -> str | None:
        """Return the NUL-terminated UTF-8 string at an address.

        Return None if the bytes there are not such a string, or if all strings that were read are
        more than `_MAX_OVERLAP` times longer than the file.
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
        """Return the addresses in a section, an array of addresses, after relative relocation."""
        if self.bits != 64:
            return []
        if section.size // 8 > _MAX_ADDRESSES:
            raise self.error(
                section.offset,
                f"section {section.name!r} has more than {_MAX_ADDRESSES} addresses",
            )
        addresses = [value for (value,) in _unpack_all(self._word, self.bytes_of(section))]
        end = section.address + 8 * len(addresses)
        for address, value in self._relative_relocations():
            if section.address <= address < end and (address - section.address) % 8 == 0:
                addresses[(address - section.address) // 8] = value
        return addresses

    def _relative_relocations(self) -> Iterator[tuple[int, int]]:
        """Yield the address and addend of each relative relocation in ``SHT_RELA`` sections.

        Relocations in the packed format ``DT_RELR`` are not read: the file stores their addends at
        the relocated addresses.
        """
        layout = struct.Struct(self._order + "QQq")
        for table in self.sections:
            if table.kind == SHT_RELA and table.size // layout.size > _MAX_RELOCATIONS:
                raise self.error(
                    table.offset, f"a section has more than {_MAX_RELOCATIONS} relocations"
                )
            if table.kind == SHT_RELA:
                for address, info, addend in _unpack_all(layout, self.bytes_of(table)):
                    if info == _RELATIVE.get(self.machine):
                        yield address, addend

    # ---- Search for byte patterns ---------------------------------------------------------

    def offsets_of(self, pattern: bytes, section: Section) -> Iterator[int]:
        """Yield the file offset of each occurrence of a pattern in a section."""
        end = section.offset + section.size
        at = self.data.find(pattern, section.offset, end)
        while at >= 0:
            yield at
            at = self.data.find(pattern, at + len(pattern), end)

    def contains_text(self, text: str) -> bool:
        """Return True if a ``.rodata`` section contains `text` as a NUL-terminated string."""
        pattern = b"\0" + text.encode() + b"\0"
        return any(
            self.data.find(pattern, section.offset, section.offset + section.size) >= 0
            for section in self.sections
            if section.name.startswith(".rodata")
        )


class _StringTable:
    """A section with NUL-terminated names.

    `text` fails if the names that were read are much longer than the section, because reading
    overlapping names takes quadratic time.
    """

    def __init__(self, image: Image, section: Section) -> None:
        self._image = image
        self._section = section
        self._bytes = image.bytes_of(section)
        self._budget = _MAX_OVERLAP * len(self._bytes) + _MAX_NAME

    def text(self, offset: int) -> str:
        """Return the name at an offset; raise LibraryFileError if it is not in the table."""
        end = self._bytes.find(b"\0", offset, offset + _MAX_NAME)
        self._budget -= end - offset
        if end < 0 or self._budget < 0:
            raise self._image.error(
                self._section.offset + offset,
                f"expected a NUL-terminated name at offset {offset} of the section "
                f"{self._section.name!r}, which has {len(self._bytes)} bytes",
            )
        return self._bytes[offset:end].decode("utf-8", "backslashreplace")


def _unpack_all(layout: struct.Struct, data: bytes) -> Iterator[tuple[Any, ...]]:
    """Yield the entries of a table of structs; ignore an incomplete entry at the end of `data`."""
    return layout.iter_unpack(data[: len(data) // layout.size * layout.size])
