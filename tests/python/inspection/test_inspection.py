# SPDX-License-Identifier: Apache-2.0
"""Inspection of library files without loading them: reports, differences, malformed files."""

from __future__ import annotations

import json
import os
import platform
import random
import re
import shlex
import struct
import subprocess
import time
from pathlib import Path

import elf_files
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tvm_ffi import inspection, libinfo
from tvm_ffi._internal.regular_file import open_regular
from tvm_ffi._library.elf import Symbol, open_image
from tvm_ffi._library.embedded_modules import EmbeddedModule, encode
from tvm_ffi._library.file_bytes import FileBytes
from tvm_ffi.cli import main
from tvm_ffi.inspection import LibraryFileError, compare_libraries, inspect_library
from tvm_ffi.inspection._read import _functions

SOURCE = Path(__file__).resolve().parents[1] / "kernels" / "described.c"

# ---- A library with hand-written device code -----------------------------------------------------


def cubin(abi: int, flags: int) -> bytes:
    """Return a cubin's first 64 bytes; its section headers would end at byte 64."""
    ident = b"\x7fELF\x02\x01\x01\x41" + bytes([abi]) + bytes(7)
    return ident + struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 64, flags, 64, 56, 0, 64, 0, 0)


def fatbin(*entries: tuple[int, int, int, bytes]) -> bytes:
    """Return a fat binary of entries (kind, sm, flags, code)."""
    body = b""
    for kind, sm, flags, code in entries:
        body += struct.pack("<HHIQIIHHI", kind, 0x101, 64, len(code), 0, 0, 8, 1, sm)
        body += bytes(8) + struct.pack("<Q", flags) + bytes(16) + code
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def hip_bundle(*entries: tuple[bytes, int]) -> bytes:
    """Return the header of an offload bundle whose entries are pairs (triple, size)."""
    parts = [b"__CLANG_OFFLOAD_BUNDLE__", struct.pack("<Q", len(entries))]
    for triple, size in entries:
        parts += [struct.pack("<QQQ", 4096, size, len(triple)), triple]
    return b"".join(parts)


MODULES = [
    EmbeddedModule("_lib", None, (1, 2)),
    EmbeddedModule("cuda", b"12345", (2,)),
    EmbeddedModule("shared", b""),
]
FATBIN = fatbin((2, 80, 0x15, b"\x7fELF"), (2, 90, 0x100015, b"x" * 8), (1, 100, 0x208011, b"ptx"))
HIP = hip_bundle((b"host-x86_64-unknown-linux--", 0), (b"hipv4-amdgcn-amd-amdhsa--gfx942", 77))


def as_c_text(data: bytes) -> str:
    return '"' + "".join(f"\\{byte:03o}" for byte in data) + '"'


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """Return a function that compiles the library."""
    folder = tmp_path_factory.mktemp("described")

    texts = {
        "EMBEDDED": encode(MODULES),
        "CUBIN": cubin(7, 0x5A0D5A) + cubin(8, 0x6006402),
        "FATBIN": FATBIN,
        "HIP": HIP,
    }
    lines = [f"#define {macro} {as_c_text(text)}\n" for macro, text in texts.items()]
    (folder / "device_code.h").write_text("".join(lines), encoding="ascii")

    def compile_library(name: str, *options: str) -> Path:
        flags = ["-std=c11", "-O1", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror"]
        flags += [f"-I{include}" for include in (folder, *libinfo.include_paths())]
        command = [*shlex.split(os.environ.get("CC") or "cc"), *flags, *options]
        subprocess.run([*command, str(SOURCE), "-o", str(folder / name)], check=True)
        return folder / name

    return compile_library


@pytest.fixture(scope="module")
def described(build):
    """Return the path of the compiled library."""
    return build("described.so")


@pytest.fixture(scope="module")
def needy(build):
    """Return the path of a library with another function, which needs an undefined ABI symbol."""
    return build("needy.so", "-DNEEDS_LATER", "-Wl,-soname,needy.so.1", "-Wl,-rpath,/somewhere")


@pytest.fixture(scope="module")
def report(described):
    return inspect_library(described)


# ---- A whole library -----------------------------------------------------------------------------


def test_functions_with_their_metadata(report):
    assert [function.name for function in report.functions] == ["add", "plain", "secret", "typed"]
    add, plain, secret, typed = report.functions
    assert add.signature == "(Tensor, int) -> None"
    assert add.doc == "Adds a number.\n\nIn place.  ü \x1b[31m"
    assert add.metadata is not None
    assert add.metadata["cost"] == 3
    assert add.unread == ()
    assert (plain.signature, plain.doc, plain.unread) == (None, None, ())
    assert (secret.signature, secret.doc) == (None, None)
    assert secret.unread == ("metadata", "doc")
    assert typed.signature == "(const std::string&, Array<int64_t>) -> int"
    assert typed.unread == ()


def test_needed_symbols_and_abi_level(report):
    (needed,) = report.symbols
    assert (needed.name, needed.is_provided, needed.since) == ("TVMFFIObjectDecRef", True, None)
    assert report.is_served
    assert report.problems == ()
    assert report.era.declared == "0.1.16"
    assert report.runtime == "0.1.16"


def test_embedded_modules(report):
    assert [(module.kind, module.size_bytes, module.imports) for module in report.modules] == [
        ("_lib", None, (1, 2)),
        ("cuda", 5, (2,)),
        ("shared", 0, ()),
    ]


def test_device_code(report):
    found = sorted(
        (code.kind, code.arch, code.size_bytes, code.place) for code in report.device_code
    )
    assert found == [
        ("cubin", "sm_100", 64, ".rodata"),
        ("cubin", "sm_80", 4, ".nv_fatbin"),
        ("cubin", "sm_90a", 8, ".nv_fatbin"),
        ("cubin", "sm_90a", 64, ".rodata"),
        ("hip", "gfx942", 77, ".hip_fatbin"),
        ("ptx", "sm_100f", 3, ".nv_fatbin"),
    ]


def test_machine_dependencies_and_version_floors(report, described):
    assert report.size_bytes == described.stat().st_size
    assert report.machine == platform.machine()
    assert (report.bits, report.is_little_endian, report.is_for_this_machine) == (64, True, True)
    assert report.soname is None
    assert any(name.startswith("libc.") for name in report.needed)
    assert set(report.floors) == {"GLIBC"}


def test_missing_symbol_is_a_problem(needy):
    report = inspect_library(needy)
    assert not report.is_served
    assert report.problems == (
        "the library needs TVMFFIOfALaterRelease, which the runtime does not provide",
    )
    assert (report.soname, report.runpath) == ("needy.so.1", ("/somewhere",))


def test_a_library_beside_it_may_define_missing_symbols(needy, tmp_path):
    other = tmp_path / "other.so"
    symbols = [("TVMFFIOfALaterRelease", True)]
    other.write_bytes(elf_files.library(machine=elf_files.X86_64, symbols=symbols))
    assert inspect_library(needy, beside=[other]).is_served


NEEDING = """
int helper(void);
double cbrt(double);
__attribute__((weak)) int optional(void);
void* TVMFFIStringFromByteArray(void);
int __tvm_ffi_f(void* handle, const void* args, int num_args, void* result) {
  if (num_args < 0) TVMFFIStringFromByteArray();
  return (num_args ? helper() : 0) + (int)cbrt(num_args) + (optional ? optional() : 0);
}
"""


@pytest.mark.skipif(platform.system() != "Linux", reason="the libraries are those of Linux")
def test_symbols_that_no_linked_library_defines_are_listed(tmp_path, capsys):
    """A call of such a function ended the process."""
    (tmp_path / "needing.c").write_text(NEEDING)
    (tmp_path / "helper.c").write_text("int helper(void) { return 1; }\n")
    compiler = [*shlex.split(os.environ.get("CC", "cc")), "-fPIC", "-shared"]

    def undefined(*options):
        command = [*compiler, "needing.c", *options, "-o", "needing.so"]
        subprocess.run(command, cwd=tmp_path, check=True)
        return inspect_library(tmp_path / "needing.so").undefined

    assert undefined("-nostdlib") == ("cbrt", "helper")
    assert main(["inspect", str(tmp_path / "needing.so")]) == 0
    assert "  helper  no linked library defines it\n" in capsys.readouterr().out
    assert undefined("-lm") == ("helper",)
    subprocess.run([*compiler, "helper.c", "-o", "libhelper.so"], cwd=tmp_path, check=True)
    assert undefined("-lm", "-L.", "-lhelper", "-Wl,-rpath,$ORIGIN") == ()
    assert undefined("-lm", "-L.", "-lhelper") is None  # a loader does not find libhelper.so


def test_a_module_without_a_loader_names_the_function_that_is_missing(described, capsys):
    main(["inspect", str(described)])
    text = "no loader: import the package that registers ffi.Module.load_from_bytes.cuda\n"
    assert text in capsys.readouterr().out


def test_to_json_contains_the_report(report):
    values = json.loads(json.dumps(report.to_json()))
    assert values["format"] == 1
    assert values["is_served"] is True
    assert values["functions"][0]["signature"] == "(Tensor, int) -> None"
    assert values["modules"][1] == {
        "kind": "cuda",
        "size_bytes": 5,
        "imports": [2],
        "loader": "ffi.Module.load_from_bytes.cuda",
        "has_loader": False,
        "functions": [],
    }


def test_differences(described, needy):
    before, after = inspect_library(described), inspect_library(needy)
    difference = compare_libraries(before, after)
    assert difference
    assert difference.is_breaking
    assert difference.functions_added == ("added",)
    assert difference.symbols_newly_needed == ("TVMFFIOfALaterRelease",)
    assert difference.functions_removed == difference.functions_changed == ()
    back = compare_libraries(after, before)
    assert back.functions_removed == ("added",)
    assert back.symbols_newly_needed == ()
    assert not compare_libraries(before, before)


def test_difference_of_signatures_versions_and_code():
    def library(signature, floors, *codes):
        code = tuple(inspection.DeviceCodeReport("cubin", arch, 1, "") for arch in codes)
        functions = (
            inspection.FunctionReport("f", signature), inspection.FunctionReport("g", None),
        )  # fmt: skip
        return inspection.LibraryReport(
            "x.so", 1, "x86_64", 64, True, True, "0.1.16",
            functions=functions, floors=floors, device_code=code,
        )  # fmt: skip

    before = library("(int) -> int", {"GLIBC": "2.9", "CXXABI": "1.3"}, "sm_80", "sm_90")
    after = library("(float) -> int", {"GLIBC": "2.34", "GCC": "3.0"}, "sm_90", "sm_100")
    difference = compare_libraries(before, after)
    change = inspection.Change
    assert difference.functions_changed == (change("f", "(int) -> int", "(float) -> int"),)
    assert difference.floors_raised == (change("GLIBC", "2.9", "2.34"), change("GCC", "0", "3.0"))
    assert difference.device_code_removed == ("cubin sm_80",)
    assert difference.device_code_added == ("cubin sm_100",)
    assert compare_libraries(after, before).floors_raised == (change("CXXABI", "0", "1.3"),)


# ---- Releases of the ABI -------------------------------------------------------------------------

BY_VALUE = "_ZN3tvm3ffi4json9StringifyERKNS0_3AnyENS0_8OptionalIivEE"
BY_REFERENCE = "_ZN3tvm3ffi4json9StringifyERKNS0_3AnyERKNS0_8OptionalIivEE"


@pytest.mark.parametrize(
    ("needed", "at_least", "at_most"),
    [
        ([], None, None),
        (["TVMFFIGetVersion"], None, None),
        (["TVMFFIHandleInitOnce"], "0.1.8", None),
        (["TVMFFIBigIntFromByteArray", "TVMFFIHandleInitOnce"], "0.1.14", None),
        ([BY_VALUE], None, "0.1.12"),
        ([BY_REFERENCE], "0.1.13.post3", None),
        ([BY_VALUE, "_ZN3tvm3ffi9ReprPrintERKNS0_3AnyE"], "0.1.11", "0.1.12"),
    ],
)
def test_needed_symbols_bound_the_abi_level(tmp_path, needed, at_least, at_most):
    path = tmp_path / "library.so"
    symbols = [(name, False) for name in needed]
    path.write_bytes(elf_files.library(machine=elf_files.X86_64, symbols=symbols))
    era = inspect_library(path).era
    assert (era.declared, era.at_least, era.at_most) == (None, at_least, at_most)


def test_symbol_names_are_demangled(tmp_path):
    path = tmp_path / "library.so"
    names = {
        BY_VALUE: "tvm::ffi::json::Stringify",
        "_ZTVN3tvm3ffi9ModuleObjE": "vtable for tvm::ffi::ModuleObj",
        "_ZNK3tvm3ffi5Error4whatEv": "tvm::ffi::Error::what",
        "TVMFFIGetVersion": "TVMFFIGetVersion",
    }
    others = ["memcpy", "_ZN3foo3barEN3tvm3ffi3AnyE", "_ZSt4moveIRN3tvm3ffi3AnyEEvT_"]
    symbols = [(name, False) for name in [*names, *others]]
    path.write_bytes(elf_files.library(machine=elf_files.X86_64, symbols=symbols))
    found = {symbol.name: symbol.readable_name for symbol in inspect_library(path).symbols}
    assert found == names


# ---- Other machines ------------------------------------------------------------------------------

SYMBOLS = [("__tvm_ffi_add", True), ("TVMFFIObjectDecRef", False)]


@pytest.mark.parametrize(
    ("machine", "name"), [(elf_files.AARCH64, "aarch64"), (elf_files.X86_64, "x86_64")]
)
def test_library_for_another_machine(tmp_path, machine, name):
    path = tmp_path / "library.so"
    path.write_bytes(elf_files.library(machine=machine, symbols=SYMBOLS))
    report = inspect_library(path)
    assert report.machine == name
    assert report.is_for_this_machine == (platform.machine() == name)
    assert [function.name for function in report.functions] == ["add"]
    assert report.is_served


@pytest.mark.parametrize(
    ("machine", "bits", "big_endian", "description"),
    [
        (elf_files.S390, 64, True, "a 64-bit big-endian library for s390"),
        (elf_files.PPC, 32, True, "a 32-bit big-endian library for ppc"),
        (3, 32, False, "a 32-bit little-endian library for 386"),
    ],
)
def test_unsupported_machines_are_a_problem(tmp_path, machine, bits, big_endian, description):
    path = tmp_path / "library.so"
    data = elf_files.library(machine=machine, bits=bits, big_endian=big_endian, symbols=SYMBOLS)
    path.write_bytes(data)
    report = inspect_library(path)
    assert [function.name for function in report.functions] == ["add"]
    assert report.problems == (
        f"{description}, but the ABI is only for 64-bit little-endian machines",
    )
    assert not report.is_for_this_machine


# ---- Files that are not libraries ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (
            b"MZ\x90\0 a DLL",
            r"byte 0: expected an ELF file, got a file that begins with b'MZ\\x90\\x00'",
        ),
        (b"\x7fELF", "byte 4: malformed ELF header: the file ends at byte 4"),
        (
            b"\x7fELF\x07" + bytes(60),
            "byte 4: malformed ELF header: expected ELF class 1 or 2, got 7",
        ),
        (SOURCE.read_bytes(), "byte 0: expected an ELF file, got a file that begins with "),
    ],
    ids=["empty", "DLL", "cut off", "class 7", "text"],
)
def test_files_of_other_formats_are_refused(tmp_path, content, message):
    path = tmp_path / "library.so"
    path.write_bytes(content)
    with pytest.raises(LibraryFileError, match=rf"^{path}: {message}"):
        inspect_library(path)


def test_object_files_folders_and_missing_files_are_refused(tmp_path):
    data = bytearray(elf_files.library(machine=elf_files.X86_64))
    data[16] = 1
    path = tmp_path / "object.o"
    path.write_bytes(data)
    with pytest.raises(
        LibraryFileError, match="byte 16: expected a shared library, got an object file"
    ):
        inspect_library(path)
    with pytest.raises(OSError, match="directory"):
        inspect_library(tmp_path)
    with pytest.raises(OSError, match="missing"):
        inspect_library(tmp_path / "missing.so")


def inspected(path: Path, data: bytes) -> str:
    """Return the error message for a file, or "" if the file is valid; errors have a position."""
    path.write_bytes(data)
    began, problem = time.process_time(), ""
    try:
        inspect_library(path)
    except LibraryFileError as error:
        problem = str(error)
    assert time.process_time() - began < 5
    assert problem == "" or problem.startswith(f"{path}: byte ") or data == b""
    return problem


def test_a_file_truncated_at_any_length_is_refused(described, tmp_path):
    data = described.read_bytes()
    path = tmp_path / "truncated.so"
    lengths = {*range(70), *range(64, len(data), 131), *range(len(data) - 130, len(data))}
    # The section headers are at the end of the file.
    assert all(inspected(path, data[:length]) for length in lengths)
    assert inspected(path, data) == ""
    small = elf_files.library(machine=elf_files.X86_64, symbols=SYMBOLS)
    assert all(inspected(path, small[:length]) for length in range(len(small)))


def test_huge_numbers_at_every_offset_are_handled(described, tmp_path):
    path = tmp_path / "huge.so"
    small = elf_files.library(machine=elf_files.X86_64, symbols=SYMBOLS)
    for offset in range(16, len(small) - 8, 4):
        for number in (0, 2**63, 2**31 - 1):
            inspected(path, small[:offset] + struct.pack("<Q", number) + small[offset + 8 :])
    data = described.read_bytes()
    (sections,) = struct.unpack_from("<Q", data, 40)
    for offset in range(sections, len(data) - 8, 8):
        for number in (2**64 - 1, len(data) - 1):
            inspected(path, data[:offset] + struct.pack("<Q", number) + data[offset + 8 :])


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 60))
def test_random_bytes_are_handled(described, tmp_path, seed, count):
    data = bytearray(described.read_bytes())
    source = random.Random(seed)
    for _ in range(count):
        data[source.randrange(4, len(data))] = source.randrange(256)
    inspected(tmp_path / "random.so", bytes(data))


def test_overlapping_sections_are_refused_quickly(tmp_path):
    """Regression: thirty thousand sections that each cover the file took more than a minute."""
    data = elf_files.library(machine=elf_files.X86_64, symbols=SYMBOLS)
    (table,) = struct.unpack_from("<Q", data, 40)
    count = 30_000
    whole = struct.pack("<IIQQQQIIQQ", 1, 1, 2, 64, 0, table, 0, 0, 1, 0)
    made = bytearray(data[: table + 4 * 64] + whole * (count - 4))
    struct.pack_into("<H", made, 60, count)
    problem = inspected(tmp_path / "sections.so", bytes(made))
    assert re.search(
        "the sections overlap: they have [0-9]+ bytes in a file of [0-9]+ bytes", problem
    )


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("big_endian", [False, True])
def test_sections_and_symbols_match_pyelftools(described, bits, big_endian, tmp_path):
    pytest.importorskip("elftools", reason="pyelftools is not installed")
    from elftools.elf.elffile import ELFFile

    made = tmp_path / "made.so"
    made.write_bytes(
        elf_files.library(machine=elf_files.PPC, bits=bits, big_endian=big_endian, symbols=SYMBOLS)
    )
    for path in (described, made):
        with path.open("rb") as file, open_image(path) as image:
            other = ELFFile(file)
            assert [
                (s.name, s["sh_addr"], s["sh_offset"], s["sh_size"], s["sh_link"])
                for s in other.iter_sections()
                if s["sh_type"] not in ("SHT_NULL", "SHT_NOBITS")
            ] == [(s.name, s.address, s.offset, s.size, s.link) for s in image.sections]
            symbols = other.get_section_by_name(".dynsym").iter_symbols()
            assert [(s.name, s["st_value"], s["st_size"]) for s in symbols if s.name] == [
                (s.name, s.address, s.size) for s in image.symbols()
            ]


def test_overlapping_names_are_refused_quickly(tmp_path):
    """The names of a hundred symbols are suffixes of the same long string."""
    name = "x" * 60_000
    data = bytearray(
        elf_files.library(machine=elf_files.X86_64, symbols=[(name, False)] + [("y", False)] * 99)
    )
    for i in range(2, 101):
        struct.pack_into("<I", data, 64 + i * 24, 1)
    assert "expected a NUL-terminated name at offset 1 of the section '.dynstr'" in inspected(
        tmp_path / "overlap.so", bytes(data)
    )


def version_needs(libraries: int, versions: int, name: int) -> bytes:
    """Return a version-needs section in which all libraries have the same versions and name."""
    rows = []
    for i in range(libraries):
        step = 0 if i == libraries - 1 else 16
        rows.append(struct.pack("<HHIII", 1, versions, 0, 16 * (libraries - i), step))
    for i in range(versions):
        rows.append(struct.pack("<IHHII", 0, 0, 0, name, 0 if i == versions - 1 else 16))
    return b"".join(rows)


def needy_library(needs: bytes, names: bytes = b"") -> bytes:
    needs_section = (".gnu.version_r", 0x6FFFFFFE, 0, needs)
    return elf_files.library(machine=elf_files.X86_64, sections=[needs_section], texts=names)


def test_shared_version_entries_are_refused_quickly(tmp_path):
    """Regression: each version was read for each library: 3000 of each, in 100 KB, took seconds."""
    path = tmp_path / "versions.so"
    assert "section '.gnu.version_r' links more entries than the section has" in inspected(
        path, needy_library(version_needs(3000, 3000, 0))
    )


@pytest.mark.parametrize(
    ("name", "floors"),
    [("GLIBC_2.34", {"GLIBC": "2.34"}), ("GLIBC_" + "9" * 5000, {}), ("GLIBC_2." + "1" * 10, {})],
    ids=["usual", "5000 digits", "10 digits"],
)
def test_versions_with_many_digits_are_ignored(tmp_path, name, floors):
    """Regression: Python refuses to convert that many digits, and its message became the error."""
    path = tmp_path / "versions.so"
    path.write_bytes(needy_library(version_needs(1, 2, 1), name.encode() + b"\0"))
    assert inspect_library(path).floors == floors


def test_unterminated_strings_are_skipped_quickly(tmp_path):
    """Regression: the search of a megabyte for each row did not count as reading."""
    rows = struct.pack("<Q", 0x100000) * 60_000
    text = ("text", 1, 0x100000, b"A" * (1 << 20))
    sections = [text, ("tvm_ffi_exports", 1, 0x800000, rows)]
    data = elf_files.library(machine=elf_files.X86_64, sections=sections)
    assert inspected(tmp_path / "endless.so", data) == ""


def test_rows_in_a_sparse_file_take_no_memory(tmp_path):
    """Regression: half a gigabyte of sparse file was converted to a list of addresses."""
    path = tmp_path / "sparse.so"
    data = bytearray(
        elf_files.library(
            machine=elf_files.X86_64, sections=[("tvm_ffi_exports", 1, 4096, bytes(8))]
        )
    )
    size = 1 << 29
    struct.pack_into("<QQ", data, len(data) - 64 + 24, 4096, size)
    path.write_bytes(data)
    os.truncate(path, 4096 + size)
    began = time.process_time()
    with pytest.raises(
        LibraryFileError,
        match="byte 4096: section 'tvm_ffi_exports' has more than 1000000 addresses",
    ):
        inspect_library(path)
    assert time.process_time() - began < 5


@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_fifos_and_devices_are_refused(tmp_path, described, kind):
    """Regression: opening a FIFO blocked until a process opened it for writing."""
    path = tmp_path / "library.so"
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(LibraryFileError, match=f"^{path}: the path is not a regular file"):
        inspect_library(path)
    with pytest.raises(LibraryFileError, match=f"^{path}: the path is not a regular file"):
        inspect_library(described, beside=[path])


def test_a_file_truncated_during_reading_is_an_os_error(tmp_path, described):
    """Regression: the file was mapped, and the process ended with SIGBUS."""
    path = tmp_path / "library.so"
    path.write_bytes(described.read_bytes())
    with open_image(path) as image:
        os.truncate(path, 100)
        with pytest.raises(OSError, match="became shorter than [0-9]+ bytes while it was read"):
            image.symbols()


@pytest.mark.parametrize("length", [0, 1, 255, 256, 257, 300, 5000, (1 << 20) + 3])
def test_a_search_in_blocks_finds_matches_across_blocks(tmp_path, length):
    path = tmp_path / "bytes"
    path.write_bytes(b"x" * length + b"needle" + b"x" * 7)
    with open_regular(path) as file:
        data = FileBytes(file)
        assert data.find(b"needle", 0, len(data)) == length
        assert data.find(b"needle", 0, length + 5) == -1
        assert data.find(b"needle", length + 1, len(data)) == -1
        assert data[length : length + 6] == b"needle"


def test_rows_that_share_a_long_string_are_read_quickly(build):
    """Ten thousand rows share one string of a million letters as their name and text."""
    library = build("rows.so", "-DMANY_ROWS")
    began = time.process_time()
    inspect_library(library)
    assert time.process_time() - began < 5


def test_signatures_that_share_a_long_string_are_read_quickly():
    """Regression: the same 900 KB were parsed for each of sixteen functions: 1 MB took 100 s."""
    text = "(" + ", ".join(f"p{i}: int" for i in range(10_000)) + ")"
    names = [f"f{i:02}" for i in range(100)]
    symbols = [Symbol(f"__tvm_ffi_{name}", 0, 0, True, False) for name in names]
    began = time.process_time()
    found = _functions({name: {"declaration": text} for name in names}, symbols, 2 * len(text))
    assert time.process_time() - began < 10
    assert [function.signature is not None for function in found] == [True] * 2 + [False] * 98


def exporting(*texts: bytes) -> bytes:
    """Return a library with a function ``f`` and metadata rows of three strings each."""
    starts = [sum(len(text) + 1 for text in texts[:index]) for index in range(len(texts))]
    rows = struct.pack(f"<{len(texts)}Q", *(0x100000 + start for start in starts))
    content = b"".join(text + b"\0" for text in texts)
    sections = [("text", 1, 0x100000, content), ("tvm_ffi_exports", 1, 0x800000, rows)]
    symbols = [("__tvm_ffi_f", True)]
    return elf_files.library(machine=elf_files.X86_64, symbols=symbols, sections=sections)


@pytest.mark.parametrize(("depth", "is_read"), [(31, True), (32, False), (600, False)])
def test_deeply_nested_metadata_are_not_read(tmp_path, depth, is_read):
    """Regression: nested JSON could be parsed but not serialized again: RecursionError."""
    path = tmp_path / "deep.so"
    path.write_bytes(exporting(b"f", b"metadata", b'{"x":%s1%s}' % (b"[" * depth, b"]" * depth)))
    (function,) = inspect_library(path).to_json()["functions"]
    assert (function["metadata"] is not None) == is_read


def test_device_code_in_a_section_with_a_long_name(tmp_path):
    """Regression: the name was reported for each cubin: 700 KB became 650 MB."""
    path = tmp_path / "section.so"
    section = ("x" * 60_000, 1, 0, cubin(7, 0x5A0D5A) * 100)
    path.write_bytes(elf_files.library(machine=elf_files.X86_64, sections=[section]))
    sections = [code.place for code in inspect_library(path).device_code]
    assert sections == ["x" * 255] * 100


def test_malformed_embedded_modules_are_a_problem(described, tmp_path):
    data = described.read_bytes()
    binary = encode(MODULES)
    assert data.count(binary) == 1
    path = tmp_path / "broken.so"
    path.write_bytes(data.replace(binary, binary[:16] + b"\xff" * 8 + binary[24:]))
    report = inspect_library(path)
    assert report.modules == ()
    assert not report.is_served
    assert report.problems[0].startswith("embedded modules: library binary: byte 16: ")
