# SPDX-License-Identifier: Apache-2.0
"""Generated wrapper cost: C and LLVM wrappers compared with a hand-written one, calls and compiles.

The floor column is the hand-written wrapper with the same checks, ``wrapper/by_hand.c``.  One
program calls both alternately, with two tensors and a number.  Compilers are measured in CPU time,
which is less sensitive to other load on the machine.
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
WRAPPER_ROWS = ("wrapper_call", "wrapper_compile", "wrapper_llvm_call", "wrapper_llvm_compile")

_WRAPPER = """
import sys, time
from tvm_ffi import codegen
text = "scale(x: float32*[n, m], y: out float32*[n, m], a: float = 1.0)"
wrapper = codegen.make_wrapper(text, arguments=["x", "y", "n", "m", "a"])
"""
_GENERATE = (
    _WRAPPER
    + """
print(codegen.c.source_of([wrapper]), end="")
"""
)
# Writes the object file to argv[1]; prints the milliseconds of each of argv[2] rounds.
_GENERATE_LLVM = (
    _WRAPPER
    + """
from llvmlite import ir
from tvm_ffi.codegen import llvm
for _ in range(int(sys.argv[2])):
    begin = time.process_time()
    module = ir.Module("benchmark")
    llvm.emit_wrapper(module, wrapper)
    code = llvm.object_code(module)
    print(1e3 * (time.process_time() - begin))
open(sys.argv[1], "wb").write(code)
"""
)


def measure_wrapper(
    interpreter: Interpreter, rounds: int, progress: Callable[[str], None]
) -> list[Row]:
    """Return the wrapper rows."""
    rows = [
        Row("wrapper_call", "checks of a generated C wrapper", "ns"),
        Row("wrapper_compile", "compile a generated C wrapper", "ms"),
        Row("wrapper_llvm_call", "checks of an LLVM wrapper", "ns"),
        Row("wrapper_llvm_compile", "compile an LLVM wrapper", "ms"),
    ]
    progress("wrappers")
    for measure, pair in ((_measure_c, rows[:2]), (_measure_llvm, rows[2:])):
        try:
            measure(interpreter, rounds, *pair)
        except SetupError as error:
            for row in pair:
                row.cells = {name: Unavailable(str(error)) for name in (OURS, FLOOR)}
    return rows


def _measure_c(interpreter: Interpreter, rounds: int, call: Row, build: Row) -> None:
    BUILD.mkdir(parents=True, exist_ok=True)
    generated = BUILD / "wrapper.c"
    generated.write_text(interpreter.run("-c", _GENERATE), encoding="utf-8")
    sources = {OURS: generated, FLOOR: SOURCES / "by_hand.c"}
    for name, source in sources.items():
        build.cells[name] = Samples([_compile(source) for _ in range(rounds)])
    _measure_calls(interpreter, rounds, call, "wrapper")


def _measure_llvm(interpreter: Interpreter, rounds: int, call: Row, build: Row) -> None:
    """Measure the LLVM wrapper, which llvmlite compiles in a separate process."""
    BUILD.mkdir(parents=True, exist_ok=True)
    target = BUILD / "wrapper_llvm.o"
    printed = interpreter.run("-c", _GENERATE_LLVM, str(target), str(rounds))
    build.cells[OURS] = Samples([float(line) for line in printed.splitlines()])
    build.cells[FLOOR] = Samples([_compile(SOURCES / "by_hand.c") for _ in range(rounds)])
    _measure_calls(interpreter, rounds, call, "wrapper_llvm")


def _measure_calls(interpreter: Interpreter, rounds: int, call: Row, wrapper: str) -> None:
    for name in ("scale.c", "time_calls.c"):
        _compile(SOURCES / name)
    lines = _timed(library_of(interpreter), rounds, wrapper).splitlines()
    values = [[float(word) for word in line.split()] for line in lines]
    call.cells[OURS] = Samples([row[0] for row in values])
    call.cells[FLOOR] = Samples([row[1] for row in values])


def _compile(source: Path) -> float:
    """Compile a file with the flags of `tvm_ffi.cpp`; return the milliseconds of CPU time."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    flags = ["-fPIC", "-O2", f"-I{ROOT / 'include'}"]
    run_program([*compiler, *flags, "-c", source, "-o", _object_of(source)], folder=BENCHMARKS)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def _object_of(source: Path) -> Path:
    return BUILD / f"{source.stem}.o"


def _timed(library: Path, rounds: int, wrapper: str) -> str:
    """Link and run the program; return its output, one line per round."""
    objects = [BUILD / f"{name}.o" for name in (wrapper, "by_hand", "scale", "time_calls")]
    program = BUILD / f"{wrapper}_calls"
    compiler = shlex.split(os.environ.get("CC", "cc"))
    link = [f"-L{library.parent}", "-ltvm_ffi", f"-Wl,-rpath,{library.parent}"]
    run_program([*compiler, *objects, "-o", program, *link], folder=BENCHMARKS)
    return run_program([program, str(rounds)], folder=BENCHMARKS)
