# SPDX-License-Identifier: Apache-2.0
"""The cost of loading a library, and of finding functions in it, by number of its functions.

Each sample comes from a fresh process, since a library can be loaded only once.  Implementations
take turns.  The floor is the system's loader alone: ``dlopen``, and one ``dlsym`` per function.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from environment import Interpreter, compile_functions
from results import FLOOR, OURS, Row, Samples, Unavailable
from scratch_environment import SetupError

_COUNTS = (1, 100, 10_000)
_LOOKUPS = 100  # functions found in one sample, spread over the library

# Both measure one library after the other, the first one as a warm-up, and print nanoseconds:
# for loading, and per function for looking up, unless the library has too few of them.
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
    found_from = clock()
    found = [find(name) for name in names]
    times.append([loaded - start, (clock() - found_from) / len(names)])
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
    """Return the names of the rows about loading."""
    return [f"load_{count}" for count in _COUNTS]


def find_names() -> list[str]:
    """Return the names of the rows about finding functions."""
    return [f"find_{count}" for count in _COUNTS[1:]]


def _make_rows() -> list[Row]:
    what = [_functions(count) for count in _COUNTS]
    loading = [Row(name, f"load {text}", "us") for name, text in zip(load_names(), what)]
    finding = [Row(name, f"find 1 of {text}", "ns") for name, text in zip(find_names(), what[1:])]
    return loading + finding


def _functions(count: int) -> str:
    return f"{count} function{'s' if count > 1 else ''}"


def measure_load(
    interpreters: Mapping[str, Interpreter], rounds: int, progress: Callable[[str], None]
) -> list[Row]:
    """Return the rows about loading libraries."""
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
    """Add one sample to each row's cell."""
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
