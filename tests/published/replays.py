# SPDX-License-Identifier: Apache-2.0
"""Recordings of client packages, replayed in another process and as a C program without Python."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import tvm_ffi

PROGRAM = "calls.c"


def run_calls(source: Path, python: Path) -> str:
    """Compile an exported program for the runtime of an environment; return its output."""
    options = "--cflags", "--ldflags", "--libs", "--libdir"
    config = [str(python.with_name("tvm-ffi-config"))]
    cflags, ldflags, libs, folder = (
        subprocess.run([*config, option], capture_output=True, text=True, check=True).stdout.split()
        for option in options
    )
    program = source.resolve().with_suffix("")
    flags = [*cflags, *ldflags, *libs, "-ldl", f"-Wl,-rpath,{folder[0]}"]
    subprocess.run(["cc", str(source), *flags, "-o", str(program)], check=True, timeout=120)
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


@contextlib.contextmanager
def replayed(*names: str, modules: tuple[str, ...] = ()) -> Iterator[None]:
    """Record the calls of a block and replay them; on the incumbent, only run the block.

    Each call must be replayed with equal results, in Python and in C.  The C program stays in the
    current folder.
    """
    if not hasattr(tvm_ffi, "record"):
        yield
        return
    from tvm_ffi.observe import Recording, call_program

    with tvm_ffi.record("run.tvmrec", names, contents="all"):
        yield
    imports = [word for module in modules for word in ("--import", module)]
    command = [sys.executable, "-m", "tvm_ffi", "replay", "--json", "run.tvmrec", *imports]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    report = json.loads(done.stdout)
    assert report["replayed"] > 0, report
    assert report["differences"] == report["skipped"] == [], report
    source = Path(PROGRAM)
    source.write_text(call_program(Recording("run.tvmrec").calls), encoding="utf-8")
    assert "Left out" not in source.read_text(encoding="utf-8")
    printed = run_calls(source, Path(sys.executable)).splitlines()
    assert len(printed) == report["replayed"] + 1, printed
    assert printed[-1] == "as recorded"
