# SPDX-License-Identifier: Apache-2.0
"""What it takes from source to a function that can be called, in milliseconds.

A fresh process for each sample builds and calls a kernel that is new to its cache, and asks for it
again, which then is found.  Building is given twice: as time that passes, and as CPU time of the
process and its compilers, which other load on the machine changes less.  A C++ kernel is built
without precompiled headers, as the first one is, and with those that an earlier kernel left.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from environment import BENCHMARKS, Interpreter
from results import Row, Samples, Unavailable
from scratch_environment import SetupError, run_program

KERNELS = BENCHMARKS / "inline_build"


class _Kernel(NamedTuple):
    file: str
    label: str
    precompile: str = ""
    """Value of the variable that says when headers are precompiled; means nothing to the peer."""


_KERNELS = {
    "c": _Kernel("kernel.c", "C kernel"),
    "cpp": _Kernel("kernel.cc", "C++ kernel", precompile="0"),
    "next": _Kernel("kernel.cc", "2nd C++ kernel", precompile="1"),
}

# The peer has no inline C: both build the C kernel from a file.
_MEASURE = """
import json, pathlib, resource, sys, time
import tvm_ffi.cpp

path = pathlib.Path(sys.argv[1])

def cpu_seconds():
    users = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(sum(resource.getrusage(user)[:2]) for user in users)

def load():
    if path.suffix == ".c":
        return tvm_ffi.cpp.load("bench_c", sources=str(path))
    return tvm_ffi.cpp.load_inline("bench_cpp", cpp_sources=path.read_text(), functions="triple")

def timed():
    wall, cpu = time.perf_counter(), cpu_seconds()
    assert load().triple(14) == 42
    return (time.perf_counter() - wall) * 1e3, (cpu_seconds() - cpu) * 1e3

built, built_cpu = timed()
found = min(timed()[0] for _ in range(5))
print(json.dumps({"build": built, "build_cpu": built_cpu, "found": found}))
"""

_QUANTITIES = {
    "build": "build and call a {}",
    "build_cpu": "the same, CPU time",
    "found": "find and call this {}",
}

BUILD_ROWS = tuple(f"{quantity}_{kernel}" for kernel in _KERNELS for quantity in _QUANTITIES)


def measure_build(
    interpreters: Sequence[Interpreter], rounds: int, progress: Callable[[str], None]
) -> list[Row]:
    """Return the rows of the build benchmark."""
    rows = {name: _row(name) for name in BUILD_ROWS}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds + 1):  # round 0 fills the system's caches and is not counted
            progress(f"builds: round {number} of {rounds}")
            for interpreter in interpreters:
                for kernel in _KERNELS:
                    source = _new_kernel(kernel, number, Path(folder))
                    _measure_once(rows, interpreter, kernel, source, counted=number > 0)
    return list(rows.values())


def _row(name: str) -> Row:
    quantity, _, kernel = name.rpartition("_")
    return Row(name, _QUANTITIES[quantity].format(_KERNELS[kernel].label), "ms")


def _new_kernel(kernel: str, number: int, folder: Path) -> Path:
    """Return a file with the kernel and a number, which no cache knows."""
    source = KERNELS / _KERNELS[kernel].file
    path = folder / f"{kernel}_{number}{source.suffix}"
    path.write_text(f"{source.read_text(encoding='utf-8')}// {path.stem}\n", encoding="utf-8")
    return path


def _measure_once(
    rows: dict[str, Row], interpreter: Interpreter, kernel: str, source: Path, *, counted: bool
) -> None:
    cells = {
        quantity: rows[f"{quantity}_{kernel}"].cells.setdefault(interpreter.name, Samples([]))
        for quantity in _QUANTITIES
    }
    if isinstance(cells["build"], Unavailable):
        return
    try:
        measured = _build(interpreter, source, _KERNELS[kernel].precompile)
    except SetupError as error:
        for quantity in cells:
            rows[f"{quantity}_{kernel}"].cells[interpreter.name] = Unavailable(str(error))
        return
    for quantity, cell in cells.items():
        if counted and isinstance(cell, Samples):
            cell.values.append(measured[quantity])


def _build(interpreter: Interpreter, source: Path, precompile: str) -> dict[str, float]:
    """Return what a fresh process measured."""
    variables = {
        **interpreter.environment(),
        "TVM_FFI_CACHE_DIR": str(source.parent / interpreter.name),
        "TVM_FFI_CPP_EXTENSION_PRECOMPILE": precompile,
    }
    command = (interpreter.executable, "-c", _MEASURE, source)
    output = run_program(command, variables, BENCHMARKS)
    measured: dict[str, float] = json.loads(output)
    return measured
