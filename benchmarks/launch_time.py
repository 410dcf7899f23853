# SPDX-License-Identifier: Apache-2.0
"""Launch plan cost: generated C, a launch module, and a hand-written launch with the same checks.

The floor column is the hand-written launch, ``launch/by_hand.c``.  All use the tests' fake CUDA
driver, which records each call.  One program calls the three functions alternately, with two
tensors and a number.  The row of a prepared launch, with seven tensors and twelve numbers, has the
time above the driver's function.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path

from environment import BENCHMARKS, BUILD, ROOT, Interpreter, library_of
from results import FLOOR, OURS, Row, Samples, Unavailable
from scratch_environment import SetupError, run_program

SOURCES = BENCHMARKS / "launch"
LAUNCH_ROWS = ("launch_call", "launch_module_call", "prepared_launch")

_GENERATE = """
import sys, tvm_ffi
from tvm_ffi import codegen
ptx = ".version 8.0 .target sm_80 "
ptx += ".entry scale(.param .u64 x, .param .u64 y, .param .u32 n, .param .f32 a) { ret; }"
text = "scale(x: float32[n], y: out float32[n], a: float = 1.0)"
arguments = ["x", "y", "int32 n", "float32 a"]
plan = codegen.make_launch_plan(text, ptx, arguments=arguments, grid="cdiv(n, 256)", block=256)
tensors, numbers = [f"t{i}" for i in range(7)], [f"k{i}" for i in range(12)]
text = ", ".join([*(f"{t}: float32[n, m]" for t in tensors), *(f"{k}: int" for k in numbers)])
entry = ", ".join(f".param .u64 p{i}" for i in range(19))
ptx = f".version 8.0 .target sm_80 .entry many({entry}) {{ ret; }}"
many = codegen.make_launch_plan(
    f"many({text})", ptx, arguments=[*tensors, *numbers], grid="cdiv(n, 8)", block=256)
tvm_ffi.export_library(sys.argv[1], codegen.launch_module([plan, many]))
print(codegen.c.source_of([plan]), end="")
"""


def measure_launch(
    interpreter: Interpreter, rounds: int, progress: Callable[[str], None]
) -> list[Row]:
    """Return the launch rows."""
    rows = [
        Row("launch_call", "checks and launch of a generated C function", "ns"),
        Row("launch_module_call", "checks and launch of a launch module", "ns"),
        Row("prepared_launch", "prepared launch, 19 arguments", "ns"),
    ]
    progress("launches")
    try:
        _measure(interpreter, rounds, rows)
    except SetupError as error:
        for row in rows:
            row.cells = {name: Unavailable(str(error)) for name in (OURS, FLOOR)}
    return rows


def _measure(interpreter: Interpreter, rounds: int, rows: list[Row]) -> None:
    folder = BUILD / "launch"
    folder.mkdir(parents=True, exist_ok=True)
    module = folder / "module.so"
    generated = folder / "generated.c"
    generated.write_text(interpreter.run("-c", _GENERATE, str(module)), encoding="utf-8")
    lines = _timed(folder, generated, module, library_of(interpreter), rounds).splitlines()
    values = [[float(word) for word in line.split()] for line in lines]
    *calls, prepared = rows
    for column, row in enumerate(calls):
        row.cells[OURS] = Samples([line[column] for line in values])
        row.cells[FLOOR] = Samples([line[2] for line in values])
    prepared.cells[OURS] = Samples([line[3] - line[4] for line in values])


def _timed(folder: Path, generated: Path, module: Path, library: Path, rounds: int) -> str:
    """Build and run the program; return its output, one line per round."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    driver, program = folder / "libcuda.so.1", folder / "launch"
    flags = ["-O2", "-shared", "-fPIC", "-pthread", "-Wl,-soname,libcuda.so.1"]
    fake_driver = ROOT / "tests" / "cpp" / "fake_driver" / "fake_driver.c"
    run_program([*compiler, *flags, fake_driver, "-o", driver], folder=BENCHMARKS)
    sources = [generated, SOURCES / "by_hand.c", SOURCES / "time_calls.c"]
    link = [f"-L{library.parent}", "-ltvm_ffi", f"-Wl,-rpath,{library.parent}", "-ldl", "-pthread"]
    # Link the fake driver in, so that a later dlopen("libcuda.so.1") returns it.
    link += ["-Wl,--no-as-needed", str(driver), f"-Wl,-rpath,{folder}"]
    include = f"-I{ROOT / 'include'}"
    run_program([*compiler, "-O2", include, *sources, "-o", program, *link], folder=BENCHMARKS)
    return run_program([program, module, str(rounds)], folder=BENCHMARKS)
