# SPDX-License-Identifier: Apache-2.0
"""Kernel names and parameter sizes in device images.

PTX contains both as text.  In a cubin (an ELF file) the code of a kernel is the section
``.text.NAME``, and the section ``.nv.info.NAME`` describes its parameters.  NVIDIA does not specify
the format of that section; these records were found by comparing the outputs of ptxas 13.0 for
known kernels:

    record:          u8 form (4: `size` bytes follow) | u8 attribute | u16 size
    attribute 0x17:  u32 | u16 index of the parameter | u16 offset | u32, size in bits 18 and up
    attribute 0x19:  form 3, where `size` is the number of bytes of all parameters

Device images are untrusted: time and memory are proportional to their length, and tables whose
entries overlap are refused.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping

__all__ = ["cubin_kernels", "ptx_kernels", "ptx_target"]

Kernels = Mapping[str, "tuple[int, ...] | None"]

_SECTION = struct.Struct("<IIQQQQIIQQ")
_RECORD = struct.Struct("<BBH")
_HAS_BYTES, _PARAMETER, _PARAMETER_SIZE, _ALL_PARAMETERS = 4, 0x17, 12, 0x19
_MAX_PARAMETERS = (
    4096  # maximum number of parameters per kernel; the driver allows 32 KiB of parameters
)
_MAX_DIGITS = 9  # maximum number of digits of a size in PTX text
# Limit of the total size of all sections as a multiple of the file size, and limit of the total
# length of all section names as a multiple of the string table's size.  Names may share suffixes.
_MAX_SHARED, _MAX_OVERLAP = 2, 16
_WITHOUT_BYTES = (0, 8)  # types of sections that have no bytes in the file: SHT_NULL, SHT_NOBITS

# In this pattern an unterminated comment extends to the end of the text.  Otherwise the search
# would scan to the end from each "/*", which takes quadratic time.
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_TARGET = re.compile(r"^[ \t]*\.target\s+(sm_\d+[af]?)", re.MULTILINE)
_ENTRY = re.compile(r"\.entry\s+([\w$%]+)\s*(\([^()]*\)?)?")
_PARAM = re.compile(
    r"\.param\b(?:\s*\.align\s+\d+)?\s*\.(?:pred|[busf](\d+)(?:x2)?)\b[^\[]*(?:\[\s*(\d+)\s*\])?"
)


def ptx_target(text: str) -> str | None:
    """Return the target architecture of PTX; None if the PTX has no directive ``.target``."""
    found = _TARGET.search(_COMMENT.sub("", text))
    return found[1] if found else None


def ptx_kernels(text: str) -> Kernels:
    """Return the kernels of PTX by name, with parameter sizes in bytes; None for unknown sizes."""
    return {
        found[1]: _ptx_sizes(found[2] or "()") for found in _ENTRY.finditer(_COMMENT.sub("", text))
    }


def _ptx_sizes(parameters: str) -> tuple[int, ...] | None:
    if not parameters.endswith(")"):
        return None
    sizes = []
    for text in parameters[1:-1].split(",") if parameters[1:-1].strip() else []:
        found = _PARAM.search(text)
        if found is None or found[1] is None:
            return None
        if max(len(found[1]), len(found[2] or "")) > _MAX_DIGITS:
            return None
        sizes.append(int(found[1]) // 8 * int(found[2] or 1))
    return tuple(sizes)


def cubin_kernels(cubin: bytes) -> Kernels | None:
    """Return the kernels of a cubin by name, with parameter sizes in bytes; None for unknown sizes.

    Return None instead of the mapping if the section headers are malformed.
    """
    try:
        sections = dict(_sections(cubin))
    except (struct.error, ValueError):
        return None
    if not sections:
        return None
    names = [name.removeprefix(".text.") for name in sections if name.startswith(".text.")]
    # Device functions have code as well, but only kernels have parameters in constant memory.
    return {
        name: _cubin_sizes(sections.get(f".nv.info.{name}", memoryview(b"")))
        for name in names
        if f".nv.constant0.{name}" in sections
    }


def _sections(cubin: bytes) -> Iterator[tuple[str, memoryview]]:
    """Yield a pair of name and contents for each section of a cubin.

    Raise ValueError if the section headers are malformed.
    """
    (table,) = struct.unpack_from("<Q", cubin, 40)
    size, count, names = struct.unpack_from("<HHH", cubin, 58)
    if (count and size < _SECTION.size) or table > len(cubin):
        raise ValueError("the section header table of the cubin does not fit into its bytes")
    rows = [_SECTION.unpack_from(cubin, table + i * size) for i in range(count)]
    if sum(row[5] for row in rows if row[1] not in _WITHOUT_BYTES) > _MAX_SHARED * len(cubin):
        raise ValueError("the sections of the cubin overlap: their total size is too large")
    if names >= len(rows):
        return
    texts = bytes(_contents(cubin, rows[names]))
    budget = _MAX_OVERLAP * len(texts)
    for row in rows:
        end = texts.find(b"\0", row[0])
        budget -= end - row[0]
        if end < 0 or budget < 0:
            raise ValueError("the section names of the cubin overlap or do not end with NUL")
        yield texts[row[0] : end].decode("utf-8", "replace"), _contents(cubin, row)


def _contents(cubin: bytes, row: tuple[int, ...]) -> memoryview:
    offset, size = row[4], 0 if row[1] in _WITHOUT_BYTES else row[5]
    return memoryview(cubin)[offset : offset + size]


def _cubin_sizes(records: memoryview) -> tuple[int, ...] | None:
    sizes: dict[int, int] = {}
    at = in_all = 0
    while at + _RECORD.size <= len(records):
        form, attribute, size = _RECORD.unpack_from(records, at)
        at += _RECORD.size
        if form != _HAS_BYTES:
            in_all = size if attribute == _ALL_PARAMETERS else in_all
            continue
        if attribute == _PARAMETER and size == _PARAMETER_SIZE and at + size <= len(records):
            index, _, word = struct.unpack_from("<HHI", records, at + 4)
            sizes[index] = word >> 18
        at += size
    if len(sizes) > _MAX_PARAMETERS or sorted(sizes) != list(range(len(sizes))):
        return None
    if in_all and not sizes:  # the kernel has parameters, but their records have an unknown format
        return None
    return tuple(sizes[index] for index in range(len(sizes)))
