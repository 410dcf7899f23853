# SPDX-License-Identifier: Apache-2.0
"""Load time of a library and lookup time of its functions, by number of functions.

Each sample is from a fresh process, because a process loads a library only once.  The samples of
the implementations are interleaved.  The floor is the loader alone: ``dlopen``, and one ``dlsym``
per function.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from environment import Interpreter, compile_functions
from results import FLOOR, OURS, Row, Samples, Unavailable
from scratch_environment import SetupError

_COUNTS = (1, 100, 10_000)
_LOOKUPS = 100  # number of functions looked up per sample, spread over the library

# Measures the libraries sequentially, the first one as a warm-up, and prints for each the
# nanoseconds of loading and the mean nanoseconds per lookup.
_MEASURE = """
import gc, json, sys, time
{begin}
gc.disable()
clock = time.perf_counter_ns
times = []
for path in sys.argv[1:]:
    count = int(path.rpartition("_")[2][:-3])
    start = clock()
    library = {load}
    loaded = clock()
    {check}
    names = [{name} for i in range(0, count, max(1, count // {lookups}))]
    find = {find}
    lookup_start = clock()
    found = [find(name) for name in names]
    times.append([loaded - start, (clock() - lookup_start) / len(names)])
print(json.dumps(times))
"""
_PACKAGE = _MEASURE.format(
    begin="import tvm_ffi",
    load="tvm_ffi.load_module(path)",
    check="assert library.function_0() == 0",
    name='f"function_{i}"',
    find="library.get_function",
    lookups=_LOOKUPS,
)
_LOADER = _MEASURE.format(
    begin="import _ctypes, functools, os",
    load="_ctypes.dlopen(path, os.RTLD_LAZY)",
    check="_ctypes.dlsym(library, '__tvm_ffi_function_0')",
    name='f"__tvm_ffi_function_{i}"',
    find="functools.partial(_ctypes.dlsym, library)",
    lookups=_LOOKUPS,
)


def load_names() -> list[str]:
    """Return the names of the load rows."""
    return [f"load_{count}" for count in _COUNTS]


def find_names() -> list[str]:
    """Return the names of the lookup rows."""
    return [f"find_{count}" for count in _COUNTS[1:]]


def _make_rows() -> list[Row]:
    sizes = [_functions(count) for count in _COUNTS]
    loading = [Row(name, f"load {size}", "us") for name, size in zip(load_names(), sizes)]
    finding = [Row(name, f"find 1 of {size}", "ns") for name, size in zip(find_names(), sizes[1:])]
    return loading + finding


def _functions(count: int) -> str:
    return f"{count} function{'s' if count > 1 else ''}"


def measure_load(
    interpreters: Mapping[str, Interpreter], rounds: int, progress: Callable[[str], None]
) -> list[Row]:
    """Return the load and lookup rows."""
    rows = _make_rows()
    programs = {name: (interpreter, _PACKAGE) for name, interpreter in interpreters.items()}
    programs[FLOOR] = (interpreters[OURS], _LOADER)
    try:
        libraries = [compile_functions(count) for count in (2, *_COUNTS)]  # 2: the warm-up
    except SetupError as error:
        for row in rows:
            row.cells.update(dict.fromkeys(programs, Unavailable(str(error))))
        return rows
    for number in range(rounds):
        progress(f"load: round {number + 1} of {rounds}")
        for name, (interpreter, program) in programs.items():
            _measure_once(rows, name, interpreter, program, libraries)
    return rows


def _measure_once(
    rows: Sequence[Row], name: str, interpreter: Interpreter, program: str, libraries: list[Path]
) -> None:
    """Add one sample of this implementation to each row."""
    cells = [row.cells.setdefault(name, Samples([])) for row in rows]
    if isinstance(cells[0], Unavailable):
        return
    try:
        answer = interpreter.run("-c", program, *map(str, libraries))
    except SetupError as error:
        for row in rows:
            row.cells[name] = Unavailable(str(error))
        return
    times = json.loads(answer)[1:]
    values = [load_ns / 1e3 for load_ns, _ in times] + [find_ns for _, find_ns in times[1:]]
    for cell, value in zip(cells, values):
        assert isinstance(cell, Samples)
        cell.values.append(value)
