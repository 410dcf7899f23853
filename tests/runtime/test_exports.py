# SPDX-License-Identifier: Apache-2.0
"""ELF properties of the built library: symbols, SONAME, and dependencies."""

from __future__ import annotations

import json
import platform
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

ABI = json.loads(
    (Path(__file__).resolve().parents[1] / "abi" / "abi.json").read_text(encoding="utf-8")
)

# Symbols that the incumbent has removed and that published binaries still import.
FORMER_CXX_SYMBOLS = set(ABI["cpp_symbols_imported_but_not_exported_by_this_version"])
# Static variables inside functions of the incumbent. Clients cannot name them, or define the guard
# themselves because they inline the function.
INCIDENTAL_CXX_SYMBOLS = {
    "_ZGVZN3tvm3ffi9ModuleObj27_GetOrAllocRuntimeTypeIndexEvE6tindex",
    "_ZZN3tvm3ffi9ModuleObj14InternalUnsafe22GetFunctionFromImportsEPS1_PKcE6mutex_",
}
# Sizes in bytes of the class data that libraries share: vtables and type information.
CXX_DATA_SIZES = {
    "_ZTVN3tvm3ffi9ModuleObjE": 112,
    "_ZTIN3tvm3ffi9ModuleObjE": 40,
    "_ZTVN3tvm3ffi5ErrorE": 40,
    "_ZTIN3tvm3ffi5ErrorE": 56,
}

# Functions that this implementation adds to the ABI, declared in tvm/ffi/extra/c_host_call.h and
# c_observe.h and c_prepared.h.
OWN_C_FUNCTIONS = {
    "TVMFFIHostCall",
    "TVMFFIHostErrorStatus",
    "TVMFFIHostErrorText",
    "TVMFFIHostFindFunction",
    "TVMFFIHostFindSlot",
    "TVMFFIHostIsReadOnly",
    "TVMFFIHostMoveResults",
    "TVMFFIHostSlotFunction",
    "TVMFFIObserverAdd",
    "TVMFFIObserverCount",
    "TVMFFIObserverRemove",
    "TVMFFIObserverShow",
    "TVMFFIPreparedCreate",
    "TVMFFIPreparedRun",
    "TVMFFIPreparedUpdate",
}

# SONAME by the part of the library's file name before ".so".
ALLOWED_LIBRARIES = {
    "libc",
    "libdl",
    "libpthread",
    "libstdc++",
    "libgcc_s",
    "libm",
    "ld-linux-x86-64",
    "ld-linux-aarch64",
}


def run(program: str, *arguments: str) -> str:
    """Return the output of a binutils program."""
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"{program} is not installed")
    return subprocess.run(
        [path, *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={"LC_ALL": "C"},
    ).stdout


def dynamic_entries(library: Any, tag: str) -> list[str]:
    """Return the bracketed values of one tag of the dynamic section."""
    text = run("readelf", "--dynamic", "--wide", str(library.path))
    return re.findall(rf"\({tag}\)[^\[]*\[([^\]]*)\]", text)


def defined_symbols(library: Any) -> dict[str, tuple[str, int]]:
    """Return {name: (nm letter, size)} for the dynamic symbols that the library defines."""
    text = run("nm", "--dynamic", "--defined-only", "--portability", str(library.path))
    fields = (line.split() for line in text.splitlines())
    return {name: (letter, int(size, 16)) for name, letter, _, size in fields}


def is_cxx(name: str) -> bool:
    """Return True if the name is a mangled C++ name."""
    return name.startswith("_Z")


def test_a_call_of_a_function_object_is_one_jump(library: Any) -> None:
    """Calls that nobody observes must not execute an instruction for observers."""
    text = run(
        "objdump", "--disassemble=TVMFFIFunctionCall", "--no-show-raw-insn", str(library.path)
    )
    body = re.findall(r"^\s+[0-9a-f]+:\s+(\S.*)$", text, re.MULTILINE)
    if not any("%rdi" in line for line in body):
        pytest.skip("reads x86-64 assembly")
    code = [line.strip() for line in body if not line.startswith(("endbr64", "nop"))]
    assert code == ["jmp    *0x18(%rdi)"]


def test_c_exports_are_the_functions_of_the_contract_and_our_additions(library: Any) -> None:
    assert len(ABI["functions"]) == 50
    c_symbols = {name for name in defined_symbols(library) if not is_cxx(name)}
    assert c_symbols == set(ABI["functions"]) | OWN_C_FUNCTIONS


def test_cxx_exports_are_exactly_those_of_the_contract(library: Any) -> None:
    contract = set(ABI["cpp_symbols_exported"]) - INCIDENTAL_CXX_SYMBOLS
    cxx_symbols = set(filter(is_cxx, defined_symbols(library)))
    assert cxx_symbols == contract | FORMER_CXX_SYMBOLS


def test_shared_cxx_data_has_the_size_that_clients_expect(library: Any) -> None:
    symbols = defined_symbols(library)
    assert {name: symbols[name][1] for name in CXX_DATA_SIZES} == CXX_DATA_SIZES


def test_type_index_of_modules_is_one_per_process(library: Any) -> None:
    """Clang has no unique symbols; its weak symbols suffice for a global look-up of symbols."""
    unique_or_weak = {"u", "V"}
    tindex = "_ZZN3tvm3ffi9ModuleObj27_GetOrAllocRuntimeTypeIndexEvE6tindex"
    assert defined_symbols(library)[tindex][0] in unique_or_weak


def test_stays_mapped_after_it_is_closed(library: Any) -> None:
    """Regression: threads and exit handlers ran code of the library after `dlclose`."""
    flags = run("readelf", "--dynamic", "--wide", str(library.path))
    assert re.search(r"\(FLAGS_1\).*\bNODELETE\b", flags)


def test_soname_is_the_one_that_clients_link_with(library: Any) -> None:
    assert dynamic_entries(library, "SONAME") == [ABI["abi"]["soname"]]


def test_needs_no_library_beyond_the_system(library: Any) -> None:
    needed = {name.split(".so")[0] for name in dynamic_entries(library, "NEEDED")}
    assert needed <= ALLOWED_LIBRARIES


def test_has_no_run_path(library: Any) -> None:
    assert dynamic_entries(library, "RUNPATH") == []
    assert dynamic_entries(library, "RPATH") == []


def test_symbols_have_no_version(library: Any) -> None:
    assert not any("@" in name for name in defined_symbols(library))


def probes(library: Any) -> dict[str, list[tuple[int, int]]]:
    """Return {name: [(address, number of arguments)]} from the notes of USDT probes."""
    text = run("readelf", "--notes", "--wide", str(library.path))
    fields = re.findall(
        r"Provider: tvm_ffi\s+Name: (\S+)\s+Location: 0x([0-9a-f]+), Base: 0x0*[1-9a-f][0-9a-f]*, "
        r"Semaphore: 0x0+\s+Arguments: (.*)",
        text,
    )
    found: dict[str, list[tuple[int, int]]] = {}
    for name, address, arguments in fields:
        assert re.fullmatch(r"(8@(%r?\w+|x\d+) ?)+", arguments), arguments
        found.setdefault(name, []).append((int(address, 16), len(arguments.split())))
    return found


def test_each_probe_is_a_note_at_a_nop(library: Any) -> None:
    if platform.machine() not in ("x86_64", "aarch64"):
        pytest.skip("probes exist on x86-64 and AArch64")
    found = probes(library)
    assert {name: {count for _, count in sites} for name, sites in found.items()} == {
        "alloc": {4},
        "build": {2},
        "call__begin": {4},
        "call__end": {2},
        "error": {2},
        "load": {2},
    }
    for name, sites in found.items():
        for address, _ in sites:
            range_ = f"--start-address={address:#x}", f"--stop-address={address + 4:#x}"
            code = run("objdump", "--disassemble", "--no-show-raw-insn", *range_, str(library.path))
            assert re.search(rf"^\s+{address:x}:\s+nop\s*$", code, re.MULTILINE), (name, code)
