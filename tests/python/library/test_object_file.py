# SPDX-License-Identifier: Apache-2.0
"""ELF object files that the package writes, read by pyelftools and by the linker."""

from __future__ import annotations

import ctypes
import io
import platform
import shutil
import subprocess
import sys
import tracemalloc

import pytest

from tvm_ffi._library.object_file import machine_of, write_object

SYMBOL = "__tvm_ffi__library_bin"
needs_ld = pytest.mark.skipif(shutil.which("ld") is None, reason="the linker ld is not installed")


def written(parts, machine=None):
    file = io.BytesIO()
    write_object(file, SYMBOL, parts, machine)
    return file.getvalue()


# Bytes of an object file, written by hand from the System V ABI, chapter 4, and the x86-64
# supplement.
SMALL_OBJECT = bytes.fromhex(
    "7f454c46 02010100 0000000000000000"  # ELF header: 64 bits, little-endian
    "0100 3e00 01000000"  # relocatable file, x86-64, version 1
    "0000000000000000 0000000000000000 f800000000000000"  # the section headers begin at byte 248
    "00000000 4000 0000 0000 4000 0700 0600"  # 7 section headers; the last section has their names
    "6162636465 000000"  # byte 64: the embedded bytes
    "04000000 10000000 05000000 474e5500"  # byte 72: a property note of 16 bytes, name GNU
    "020000c0 04000000 03000000 00000000"  # property: code works with IBT and SHSTK
    "000000000000000000000000000000000000000000000000"  # byte 104: the null symbol
    "01000000 11 00 0100 0000000000000000 0500000000000000"  # symbol: global object in section 1
    "00 5f5f74766d5f6666695f5f6c6962726172795f62696e 00"  # byte 152: name of the symbol
    "00 2e726f6461746100"  # byte 176: section names: .rodata at 1
    "2e6e6f74652e676e752e70726f706572747900"  # .note.gnu.property at 9
    "2e6e6f74652e474e552d737461636b00"  # .note.GNU-stack at 28
    "2e73796d74616200 2e73747274616200 2e736873747274616200"  # at 44, 52 and 60
    "0000"  # padding up to byte 248
)
SMALL_OBJECT += bytes(64)  # header of the null section
SMALL_OBJECT += bytes.fromhex(
    "01000000 01000000 0200000000000000 0000000000000000 4000000000000000"  # .rodata
    "0500000000000000 00000000 00000000 1000000000000000 0000000000000000"
    "09000000 07000000 0200000000000000 0000000000000000 4800000000000000"  # .note.gnu.property
    "2000000000000000 00000000 00000000 0800000000000000 0000000000000000"
    "1c000000 01000000 0000000000000000 0000000000000000 6800000000000000"  # .note.GNU-stack
    "0000000000000000 00000000 00000000 0100000000000000 0000000000000000"
    "2c000000 02000000 0000000000000000 0000000000000000 6800000000000000"  # .symtab
    "3000000000000000 05000000 01000000 0800000000000000 1800000000000000"
    "34000000 03000000 0000000000000000 0000000000000000 9800000000000000"  # .strtab
    "1800000000000000 00000000 00000000 0100000000000000 0000000000000000"
    "3c000000 03000000 0000000000000000 0000000000000000 b000000000000000"  # .shstrtab
    "4600000000000000 00000000 00000000 0100000000000000 0000000000000000"
)


def test_every_byte_of_a_small_object():
    assert written([b"abc", b"", bytearray(b"de")], "x86_64") == SMALL_OBJECT


@pytest.mark.parametrize(
    ("machine", "name", "note"),
    [("x86_64", "EM_X86_64", "X86"), ("aarch64", "EM_AARCH64", "AARCH64")],
)
def test_pyelftools_reads_the_object(machine, name, note):
    pytest.importorskip("elftools", reason="pyelftools is not installed")
    from elftools.elf.elffile import ELFFile

    content = bytes(range(256)) * 3
    elf = ELFFile(io.BytesIO(written([content[:100], content[100:]], machine)))
    assert (elf["e_type"], elf["e_machine"]) == ("ET_REL", name)
    (symbol,) = elf.get_section_by_name(".symtab").get_symbol_by_name(SYMBOL)
    info = symbol["st_info"]
    assert (info["bind"], info["type"]) == ("STB_GLOBAL", "STT_OBJECT")
    assert symbol["st_other"]["visibility"] == "STV_DEFAULT"
    assert (symbol["st_value"], symbol["st_size"]) == (0, 768)
    section = elf.get_section(symbol["st_shndx"])
    assert (section["sh_flags"], section["sh_addralign"]) == (2, 16)  # allocated, read-only
    assert section.data() == content
    (property_,) = elf.get_section_by_name(".note.gnu.property").iter_notes()
    assert property_["n_desc"][0]["pr_type"] == f"GNU_PROPERTY_{note}_FEATURE_1_AND"
    assert elf.get_section_by_name(".note.GNU-stack")["sh_flags"] == 0  # not executable


@needs_ld
@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "aarch64"),
    reason="the test has expectations for x86-64 and AArch64 only",
)
def test_the_linker_makes_a_library_from_it(tmp_path):
    content = bytes(range(256)) * 3
    with (tmp_path / "bytes.o").open("wb") as file:
        write_object(file, SYMBOL, [content])
    assert machine_of(tmp_path / "bytes.o") == platform.machine()
    command = ["ld", "-shared", "--fatal-warnings", "bytes.o", "-o", "bytes.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "bytes.so"))
    array = (ctypes.c_char * len(content)).in_dll(library, SYMBOL)
    assert bytes(array) == content
    assert ctypes.addressof(array) % 16 == 0


def test_content_is_not_copied(tmp_path):
    content = bytes(50_000_000)
    with (tmp_path / "bytes.o").open("wb") as file:
        tracemalloc.start()
        try:
            write_object(file, SYMBOL, [memoryview(content), content], "x86_64")
            assert tracemalloc.get_traced_memory()[1] < 1_000_000
        finally:
            tracemalloc.stop()
    assert (tmp_path / "bytes.o").stat().st_size > 100_000_000


def test_other_machines_are_refused():
    with pytest.raises(ValueError, match=r"written for x86_64 and aarch64, not for s390x"):
        written([b""], "s390x")


def test_machine_of_other_files(tmp_path):
    (tmp_path / "short").write_bytes(b"\x7fELF\x02\x01")
    (tmp_path / "text").write_text("int x; // long enough to have a machine")
    assert machine_of(tmp_path / "short") is None
    assert machine_of(tmp_path / "text") is None
    assert machine_of(sys.executable) == platform.machine()
