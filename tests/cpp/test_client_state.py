# SPDX-License-Identifier: Apache-2.0
"""Object code that includes the headers has no thread-local variables, guards or exit destructors.

A JIT compiler does not support them in the code that it loads: reading a thread-local variable
crashed there, in the release of containers, and an exit destructor must belong to a library.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"
CLIENT = ROOT / "tests" / "cpp" / "client_state.cc"

# Mangled names of guards of static variables, and of the functions that guards and destructors
# call.
FORBIDDEN = re.compile(
    r"_ZGV|__cxa_guard_|__cxa_atexit|__cxa_thread_atexit|__dso_handle|__tls_get_addr|_ZTW|_ZTH"
)
# Sections and symbols of thread-local variables, as readelf prints them.
THREAD_LOCAL = re.compile(r"\.t(bss|data)\b|\bTLS +(LOCAL|GLOBAL|WEAK|UNIQUE)\b")


def readelf(*arguments):
    program = shutil.which("readelf")
    if program is None:
        pytest.skip("readelf is not installed")
    return subprocess.run(
        [program, "--wide", *arguments], capture_output=True, text=True, check=True
    ).stdout


def violations(text):
    return [
        line for line in text.splitlines() if FORBIDDEN.search(line) or THREAD_LOCAL.search(line)
    ]


@pytest.fixture(scope="module")
def client(compiler, tmp_path_factory):
    """Return the symbols and sections of a library's object file, compiled without optimization."""
    target = tmp_path_factory.mktemp("client") / "client.o"
    said = compiler.run("-O0", "-fPIC", "-c", str(CLIENT), "-o", str(target))
    assert said.accepted, said.text
    return readelf("--symbols", "--sections", str(target))


@pytest.fixture(scope="module")
def every_header(compiler, tmp_path_factory):
    """Return the symbols and sections of a file that includes every header."""
    folder = tmp_path_factory.mktemp("every")
    names = sorted(path.relative_to(INCLUDE).as_posix() for path in INCLUDE.rglob("*.h"))
    source = folder / "every.cc"
    source.write_text("".join(f"#include <{name}>\n" for name in names), encoding="utf-8")
    target = folder / "every.o"
    said = compiler.run("-O0", "-fPIC", "-c", str(source), "-o", str(target))
    assert said.accepted, said.text
    return readelf("--symbols", "--sections", str(target))


def test_a_library_has_no_state_that_a_jit_compiler_lacks(client):
    """Regression: `release_detail.h` had a thread-local list; each type index had a guard."""
    assert "_ZN6client7NodeObj11_type_indexE" in client  # proves that the file uses the headers
    assert violations(client) == []


def test_headers_alone_have_no_such_state(every_header):
    assert "_ZN3tvm3ffi7EnumObj11_type_indexE" in every_header
    assert violations(every_header) == []
