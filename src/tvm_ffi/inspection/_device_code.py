# SPDX-License-Identifier: Apache-2.0
"""Device images in a library: CUDA fat binaries, HIP bundles, and cubins in data sections.

NVIDIA does not specify the format of CUDA fat binaries; these fields were found by comparing the
outputs of NVIDIA's `fatbinary` 13.5 for known inputs:

    fat binary:  u32 0xba55ed50 | u16 1 | u16 size of this header, 16 | u64 size of all entries
    entry:       u16 kind (1 ptx, 2 cubin) | u16 | u32 size of this header | u64 size of the code
                 ... at 28: u32 sm ... at 40: u64 flags (0x100000: sm_90a, 0x200000: sm_100f)

In a cubin (an ELF file for machine 190) the ELF flags contain the architecture, in bits that depend
on the cubin's ABI version.  Clang's documentation specifies the format of HIP bundles.
"""

from __future__ import annotations

import itertools
import re
import struct
from collections.abc import Iterable, Iterator

from .._library.cuda_driver_module import SavedImage
from .._library.elf import SHT_PROGBITS, Image, Section
from ._kernels import ptx_target
from ._report import DeviceCodeReport

# Limits against malicious files, far above the numbers in real libraries.
_MAX_REPORTS = 10_000
_MAX_BUNDLES, _MAX_TARGETS = 1000, 100
# Maximum length of a section name, which every device image in the report repeats.
_MAX_SECTION_NAME = 255

_FATBIN_MAGIC = struct.pack("<I", 0xBA55ED50)
_FATBIN = struct.Struct("<IHHQ")
_ENTRY = struct.Struct("<HHIQ")
_ENTRY_SM, _ENTRY_FLAGS = 28, 40
_ENTRY_KINDS = {1: "ptx", 2: "cubin"}

# The option -arch in the command line that ptxas records in a cubin.
_COMMAND = re.compile(rb"-arch[ =](sm_\d{2,3})([af]?)\b")

_CUBIN_MAGIC = b"\x7fELF\x02\x01\x01"
_EM_CUDA = 190

_BUNDLE_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
_BUNDLE_ENTRY = struct.Struct("<QQQ")
_COMPRESSED_BUNDLE_MAGIC = b"CCOB"

_MODULE = "embedded module"
_FAT_SECTIONS = (".nv_fatbin", "__nv_relfatbin")
_HIP_SECTION = ".hip_fatbin"


def device_code(image: Image, saved_images: Iterable[SavedImage]) -> list[DeviceCodeReport]:
    """Return the device images of a library, in file order, then those of its embedded modules."""
    found = itertools.chain(_all_device_code(image), _saved(saved_images))
    return list(itertools.islice(found, _MAX_REPORTS))


def _saved(images: Iterable[SavedImage]) -> Iterator[DeviceCodeReport]:
    """Yield the PTX and fat binaries of embedded modules.

    Cubins are left out if they are not compressed: the search in data sections has found them.
    """
    for image in images:
        if image.format == "ptx":
            arch = image.architecture or ptx_target(image.content.decode("utf-8", "replace")) or "?"
            yield DeviceCodeReport("ptx", arch, len(image.content), _MODULE)
        elif image.format == "fatbin":
            has_cubins = _CUBIN_MAGIC in image.content
            for report in _fat_binaries(_MODULE, image.content):
                if not (has_cubins and report.kind == "cubin"):
                    yield report


def _all_device_code(image: Image) -> Iterator[DeviceCodeReport]:
    for section in image.sections:
        if section.name in _FAT_SECTIONS:
            yield from _fat_binaries(section.name, image.bytes_of(section))
        elif section.name == _HIP_SECTION:
            yield from _bundles(section.name, image.bytes_of(section))
        elif section.kind == SHT_PROGBITS:
            yield from _cubins(section, image)


def _offsets_of(data: bytes, pattern: bytes) -> Iterator[int]:
    at = data.find(pattern)
    while at >= 0:
        yield at
        at = data.find(pattern, at + len(pattern))


def _fat_binaries(section: str, data: bytes) -> Iterator[DeviceCodeReport]:
    for start in _offsets_of(data, _FATBIN_MAGIC):
        if start + _FATBIN.size > len(data):
            return
        _, version, header, size = _FATBIN.unpack_from(data, start)
        if (version, header) == (1, _FATBIN.size):
            end = min(start + header + size, len(data))
            yield from _entries(section, data, start + header, end)


def _entries(section: str, data: bytes, at: int, end: int) -> Iterator[DeviceCodeReport]:
    while at + _ENTRY_FLAGS + 8 <= end:
        kind, _, header, size = _ENTRY.unpack_from(data, at)
        if kind not in _ENTRY_KINDS or header < _ENTRY_FLAGS + 8 or at + header + size > end:
            return
        (sm,) = struct.unpack_from("<I", data, at + _ENTRY_SM)
        (flags,) = struct.unpack_from("<Q", data, at + _ENTRY_FLAGS)
        suffix = "a" if flags & 0x100000 else "f" if flags & 0x200000 else ""
        yield DeviceCodeReport(_ENTRY_KINDS[kind], f"sm_{sm}{suffix}", size, section)
        at += header + size


def cubin_arch(cubin: bytes) -> str | None:
    """Return the architecture of a cubin; None for other data.

    The number is in the ELF header.  Since CUDA 13, the suffix is only in the command line that
    ptxas records.
    """
    if len(cubin) < 64 or not cubin.startswith(_CUBIN_MAGIC):
        return None
    (machine,) = struct.unpack_from("<H", cubin, 18)
    (flags,) = struct.unpack_from("<I", cubin, 48)
    if machine != _EM_CUDA:
        return None
    if cubin[8] >= 8:  # the ABI version of the cubin selects the field with the architecture
        architecture, is_specific = f"sm_{flags >> 8 & 0xFF}", flags & 0x8
    else:
        architecture, is_specific = f"sm_{flags & 0xFF}", flags & 0x800
    command = _COMMAND.search(cubin)
    if command is not None and command[1].decode() == architecture:
        return architecture + command[2].decode()
    return f"{architecture}a" if is_specific else architecture


def _cubins(section: Section, image: Image) -> Iterator[DeviceCodeReport]:
    """Yield the cubins in a data section.

    `tvm_ffi.utils.embed_cubin` and embedded modules put cubins there.
    """
    end = section.offset + section.size
    starts = image.offsets_of(_CUBIN_MAGIC, section)
    following = next(starts, None)
    while (start := following) is not None:
        following = next(starts, None)
        header = image.data[start : min(start + 64, end)]
        if cubin_arch(header) is not None:
            # ptxas writes the section headers at the end of a cubin, so their end is its size.
            (headers,) = struct.unpack_from("<Q", header, 40)
            entry, count = struct.unpack_from("<HH", header, 58)
            size = min(headers + entry * count, end - start)
            # The sizes that a malicious file declares may overlap: search up to the next cubin.
            searched = size if following is None else min(size, following - start)
            arch = cubin_arch(image.data[start : start + max(searched, 64)]) or ""
            yield DeviceCodeReport("cubin", arch, size, section.name[:_MAX_SECTION_NAME])


def _bundles(section: str, data: bytes) -> Iterator[DeviceCodeReport]:
    for start in itertools.islice(_offsets_of(data, _BUNDLE_MAGIC), _MAX_BUNDLES):
        yield from _bundle(section, data, start)
    for start in _offsets_of(data, _COMPRESSED_BUNDLE_MAGIC):
        yield DeviceCodeReport("hip", "compressed", len(data) - start, section)
        return


def _bundle(section: str, data: bytes, start: int) -> Iterator[DeviceCodeReport]:
    at = start + len(_BUNDLE_MAGIC)
    if at + 8 > len(data):
        return
    (count,) = struct.unpack_from("<Q", data, at)
    at += 8
    for _ in range(min(count, _MAX_TARGETS)):
        if at + _BUNDLE_ENTRY.size > len(data):
            return
        _, size, length = _BUNDLE_ENTRY.unpack_from(data, at)
        at += _BUNDLE_ENTRY.size
        triple = data[at : at + min(length, 256)].decode("ascii", "replace")
        at += length
        if not triple.startswith("host"):  # skip the entry for the host, which has no device code
            # In "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+" the architecture follows the triple.
            yield DeviceCodeReport("hip", triple.rpartition("--")[2] or triple, size, section)
