# SPDX-License-Identifier: Apache-2.0
"""The kit on runtimes that do nothing, crash, hang or are for another machine: never a hang."""

from __future__ import annotations

import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "conformance" / "src"
sys.path.insert(0, str(SOURCE))

from tvm_ffi_conformance import abi  # noqa: E402
from tvm_ffi_conformance.runtimes.run import run_runtime  # noqa: E402


def build(folder: Path, body: str, extra: str = "") -> str:
    """Compile a runtime whose functions all have `body`; return its path."""
    source = folder / "runtime.c"
    functions = "\n".join(f"long {name}(void) {{ {body} }}" for name in abi.FUNCTIONS)
    source.write_text(
        f"#include <stdlib.h>\n#include <unistd.h>\n{extra}\n{functions}\n", encoding="utf-8"
    )
    path = folder / "libtvm_ffi.so"
    command = [
        "cc",
        "-shared",
        "-fPIC",
        "-w",
        "-Wl,-soname,libtvm_ffi.so",
        "-o",
        str(path),
        str(source),
    ]
    subprocess.run(command, check=True)
    return str(path)


def verdicts(results):
    return {entry.id: entry.verdict for entry in results.entries}


def test_runtime_that_does_nothing_fails_and_ends(tmp_path):
    results = run_runtime(
        build(tmp_path, "return 0;"), limit=2, pattern="^string|^global.ffi.Array"
    )
    found = verdicts(results)
    assert found["string.small.length_7.bits"] == "fail"
    assert found["global.ffi.Array.registered"] == "absent"
    assert set(found.values()) <= {"fail", "absent", "crash", "pass"}
    assert len(results.failures) == len(results.entries) > 90


def test_runtime_that_crashes_costs_one_case_each(tmp_path):
    results = run_runtime(build(tmp_path, "abort(); return 0;"), limit=2, pattern="^string.small")
    assert set(verdicts(results).values()) == {"crash"}
    assert "SIGABRT" in results.entries[0].detail


def test_runtime_that_hangs_is_given_up(tmp_path):
    start = time.monotonic()
    results = run_runtime(
        build(tmp_path, "for (;;) sleep(1); return 0;"), limit=0.3, pattern="^string"
    )
    assert time.monotonic() - start < 40
    found = list(verdicts(results).values())
    assert found.count("hang") >= 10
    assert set(found) == {"hang", "not run"}
    assert "did not end" in next(e.detail for e in results.entries if e.verdict == "not run")


def test_runtime_that_crashes_while_it_loads(tmp_path):
    extra = "__attribute__((constructor)) static void start(void) { abort(); }"
    results = run_runtime(build(tmp_path, "return 0;", extra), pattern="^string.small")
    assert results.subject["load_error"] == "loading the library died of signal 6"
    assert set(verdicts(results).values()) == {"not run"}


def test_runtime_of_another_architecture(tmp_path):
    path = Path(build(tmp_path, "return 0;"))
    content = bytearray(path.read_bytes())
    content[18:20] = struct.pack("<H", 243)
    path.write_bytes(content)
    results = run_runtime(str(path), pattern="^string.small")
    assert "got one for riscv64" in results.subject["load_error"]
    assert len(results.failures) == len(results.entries) > 0


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"not a library" * 10])
def test_file_that_is_not_a_library(tmp_path, content):
    path = tmp_path / "libtvm_ffi.so"
    path.write_bytes(content)
    assert "expected an ELF shared library" in run_runtime(str(path)).subject["load_error"]


def test_missing_file(tmp_path):
    assert "No such file" in run_runtime(str(tmp_path / "none.so")).subject["load_error"]
