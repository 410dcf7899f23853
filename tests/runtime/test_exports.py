# SPDX-License-Identifier: Apache-2.0
"""The built library seen as an ELF file: its symbols, its name, and what it needs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

ABI = json.loads(
    (Path(__file__).resolve().parents[1] / "abi" / "abi.json").read_text(encoding="utf-8")
)

# By the part of the SONAME in front of ".so".
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


def defined_symbols(library: Any) -> set[str]:
    """Return the names of the dynamic symbols that the library defines."""
    text = run("nm", "--dynamic", "--defined-only", "--portability", str(library.path))
    return {line.split()[0] for line in text.splitlines()}


def test_exports_are_exactly_the_functions_of_the_contract(library: Any) -> None:
    assert len(ABI["functions"]) == 50
    assert defined_symbols(library) == set(ABI["functions"])


def test_soname_is_the_one_clients_ask_for(library: Any) -> None:
    assert dynamic_entries(library, "SONAME") == [ABI["abi"]["soname"]]


def test_needs_no_library_beyond_the_system(library: Any) -> None:
    needed = {name.split(".so")[0] for name in dynamic_entries(library, "NEEDED")}
    assert needed <= ALLOWED_LIBRARIES


def test_has_no_run_path(library: Any) -> None:
    assert dynamic_entries(library, "RUNPATH") == []
    assert dynamic_entries(library, "RPATH") == []


def test_symbols_have_no_version(library: Any) -> None:
    assert not any("@" in name for name in defined_symbols(library))
