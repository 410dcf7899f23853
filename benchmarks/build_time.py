# SPDX-License-Identifier: Apache-2.0
"""Build time of inline kernels: from source text to the first result, in milliseconds.

For each sample, a fresh process builds and calls a kernel that is not in its build cache, then
finds and calls the same kernel again.  A build is reported as wall time and as CPU time of the
process and its compilers; CPU time is less sensitive to other load on the machine.  C++ kernels are
built without precompiled headers (as the first kernel of a user is) and with the precompiled
headers of an earlier kernel.
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
    """TVM_FFI_CPP_EXTENSION_PRECOMPILE: 0 or 1.  The incumbent ignores the variable."""


_KERNELS = {
    "c": _Kernel("kernel.c", "C kernel"),
    "cpp": _Kernel("kernel.cc", "C++ kernel", precompile="0"),
    "next": _Kernel("kernel.cc", "2nd C++ kernel", precompile="1"),
}

# The incumbent has no inline C, so both implementations build the C kernel from a file.
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
    "build_cpu": "build a {}, CPU time",
    "found": "find and call a loaded {}",
}

BUILD_ROWS = tuple(f"{quantity}_{kernel}" for kernel in _KERNELS for quantity in _QUANTITIES)


def measure_build(
    interpreters: Sequence[Interpreter], rounds: int, progress: Callable[[str], None]
) -> list[Row]:
    """Return the rows of the build benchmark."""
    rows = {name: _row(name) for name in BUILD_ROWS}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds + 1):  # round 0 warms the file caches; its times are discarded
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
    """Write the kernel with a unique comment, which no build cache contains; return the path."""
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
    """Return the milliseconds that a fresh process measured, by quantity."""
    variables = {
        **interpreter.environment(),
        "TVM_FFI_CACHE_DIR": str(source.parent / interpreter.name),
        "TVM_FFI_CPP_EXTENSION_PRECOMPILE": precompile,
    }
    command = (interpreter.executable, "-c", _MEASURE, source)
    output = run_program(command, variables, BENCHMARKS)
    measured: dict[str, float] = json.loads(output)
    return measured
