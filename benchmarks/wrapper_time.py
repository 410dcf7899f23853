# SPDX-License-Identifier: Apache-2.0
"""What a generated wrapper of a C function costs, beside one written by hand for the same checks.

In place of the floor stands the wrapper written by hand, ``wrapper/by_hand.c``.  A program calls
both in turn, with two tensors and a number; compilers are timed in CPU time, which other load on
the machine changes less.
"""

from __future__ import annotations

import os
import resource
import shlex
from collections.abc import Callable
from pathlib import Path

from environment import BENCHMARKS, BUILD, ROOT, Interpreter, library_of
from results import FLOOR, OURS, Row, Samples, Unavailable
from scratch_environment import SetupError, run_program

SOURCES = BENCHMARKS / "wrapper"
WRAPPER_ROWS = ("wrapper_call", "wrapper_compile")

_GENERATE = """
from tvm_ffi import codegen
text = "scale(x: float32*[n, m], y: out float32*[n, m], a: float = 1.0)"
print(codegen.c.wrapper(text, arguments=["x", "y", "n", "m", "a"]), end="")
"""


def measure_wrapper(
    interpreter: Interpreter, rounds: int, progress: Callable[[str], None]
) -> list[Row]:
    """Return the rows about wrappers."""
    call = Row("wrapper_call", "checks of a generated C wrapper", "ns")
    build = Row("wrapper_compile", "compile a generated C wrapper", "ms")
    progress("wrappers")
    try:
        _measure(interpreter, rounds, call, build)
    except SetupError as error:
        for row in (call, build):
            row.cells = {name: Unavailable(str(error)) for name in (OURS, FLOOR)}
    return [call, build]


def _measure(interpreter: Interpreter, rounds: int, call: Row, build: Row) -> None:
    BUILD.mkdir(parents=True, exist_ok=True)
    generated = BUILD / "wrapper.c"
    generated.write_text(interpreter.run("-c", _GENERATE), encoding="utf-8")
    sources = {OURS: generated, FLOOR: SOURCES / "by_hand.c"}
    for name, source in sources.items():
        build.cells[name] = Samples([_compile(source) for _ in range(rounds)])
    for name in ("scale.c", "time_calls.c"):
        _compile(SOURCES / name)
    lines = _timed(library_of(interpreter), rounds).splitlines()
    values = [[float(word) for word in line.split()] for line in lines]
    call.cells[OURS] = Samples([row[0] for row in values])
    call.cells[FLOOR] = Samples([row[1] for row in values])


def _compile(source: Path) -> float:
    """Compile a file as `tvm_ffi.cpp` does; return the milliseconds of CPU time."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    flags = ["-fPIC", "-O2", f"-I{ROOT / 'include'}"]
    run_program([*compiler, *flags, "-c", source, "-o", _object_of(source)], folder=BENCHMARKS)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def _object_of(source: Path) -> Path:
    return BUILD / f"{source.stem}.o"


def _timed(library: Path, rounds: int) -> str:
    """Link the program and return what it prints: a line for each round."""
    objects = [BUILD / f"{name}.o" for name in ("wrapper", "by_hand", "scale", "time_calls")]
    program = BUILD / "wrapper"
    compiler = shlex.split(os.environ.get("CC", "cc"))
    link = [f"-L{library.parent}", "-ltvm_ffi", f"-Wl,-rpath,{library.parent}"]
    run_program([*compiler, *objects, "-o", program, *link], folder=BENCHMARKS)
    return run_program([program, str(rounds)], folder=BENCHMARKS)
