# SPDX-License-Identifier: Apache-2.0
"""What a launch through a plan costs, beside one written by hand for the same checks.

In place of the floor stands what somebody wrote by hand, ``launch/by_hand.c``; the driver is the
stand-in of the tests, which records each call.  A program calls all in turn, with two tensors and a
number.
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
LAUNCH_ROWS = ("launch_call", "launch_module_call")

_GENERATE = """
import sys, tvm_ffi
from tvm_ffi import codegen
ptx = ".version 8.0 .target sm_80 "
ptx += ".entry scale(.param .u64 x, .param .u64 y, .param .u32 n, .param .f32 a) { ret; }"
text = "scale(x: float32[n], y: out float32[n], a: float = 1.0)"
arguments = ["x", "y", "int32 n", "float32 a"]
plan = codegen.make_launch_plan(text, ptx, arguments=arguments, grid="cdiv(n, 256)", block=256)
tvm_ffi.export_library(sys.argv[1], codegen.launch_module(plan))
print(codegen.c.source_of([plan]), end="")
"""


def measure_launch(
    interpreter: Interpreter, rounds: int, progress: Callable[[str], None]
) -> list[Row]:
    """Return the rows about launches."""
    rows = [
        Row("launch_call", "checks and launch of a generated C function", "ns"),
        Row("launch_module_call", "the same by a module without a compiler", "ns"),
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
    for place, row in enumerate(rows):
        row.cells[OURS] = Samples([line[place] for line in values])
        row.cells[FLOOR] = Samples([line[2] for line in values])


def _timed(folder: Path, generated: Path, module: Path, library: Path, rounds: int) -> str:
    """Build the program and return what it prints: a line for each round."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    driver, program = folder / "libcuda.so.1", folder / "launch"
    flags = ["-O2", "-shared", "-fPIC", "-pthread", "-Wl,-soname,libcuda.so.1"]
    stand_in = ROOT / "tests" / "cpp" / "fake_driver" / "fake_driver.c"
    run_program([*compiler, *flags, stand_in, "-o", driver], folder=BENCHMARKS)
    sources = [generated, SOURCES / "by_hand.c", SOURCES / "time_calls.c"]
    link = [f"-L{library.parent}", "-ltvm_ffi", f"-Wl,-rpath,{library.parent}", "-ldl", "-pthread"]
    # The program has loaded the driver when others ask for it by its name.
    link += ["-Wl,--no-as-needed", str(driver), f"-Wl,-rpath,{folder}"]
    include = f"-I{ROOT / 'include'}"
    run_program([*compiler, "-O2", include, *sources, "-o", program, *link], folder=BENCHMARKS)
    return run_program([program, module, str(rounds)], folder=BENCHMARKS)
