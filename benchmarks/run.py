# SPDX-License-Identifier: Apache-2.0
"""Command line of the benchmarks: time ours, the incumbent and the floor, interleaved.

    python benchmarks/run.py [--rounds N] [--rows PATTERN] [--quick] [--no-incumbent]

Prints a report and writes the results to ``build/bench``.  README.md in this folder describes the
rows.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import functools
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Union

from build_time import BUILD_ROWS, measure_build
from call.processes import WorkerProcess
from call.rows import CALL_ROWS, EMPTY_FUNCTION, CallRow
from call_time import Effort, measure_calls
from chart import draw_chart
from cpp_api.rows import CPP_ROWS
from environment import (
    BENCHMARKS,
    BUILD,
    Interpreter,
    compile_cpp_floor,
    compile_cpp_program,
    compile_floor,
    compile_kernels,
    first_library,
    incumbent_interpreter,
    our_interpreter,
)
from import_time import measure_import
from launch_time import LAUNCH_ROWS, measure_launch
from library_size import measure_size
from load_time import find_names, load_names, measure_load
from numba_time import NUMBA_ROWS, measure_numba
from observe_time import DEBUG_ROWS, OBSERVE_ROWS, measure_debug, measure_observers
from python_api.rows import STATEMENT_ROWS, StatementRow
from report import format_report, to_json
from results import FLOOR, INCUMBENT, OURS, Row, Unavailable
from scratch_environment import SetupError
from setting import describe_setting
from targets import judge
from torch_time import TORCH_ROWS, measure_torch
from wrapper_time import WRAPPER_ROWS, measure_wrapper
from xla_time import XLA_ROWS, measure_xla

Workers = dict[str, Union[WorkerProcess, Unavailable]]

FULL_EFFORT = Effort(rounds=15, burst_ns=4_000_000, bursts=3)
QUICK_EFFORT = Effort(rounds=3, burst_ns=1_000_000, bursts=2)
IMPORT_ROUNDS_SHARE = 3  # number of call rounds per round of imports or builds, which take longer


def parse_arguments() -> argparse.Namespace:
    """Return the command-line options."""
    parser = argparse.ArgumentParser(description="Compare ours with the incumbent and the floor.")
    parser.add_argument("--rounds", type=int, help="rounds over all rows (default 15)")
    parser.add_argument("--rows", default="*", metavar="PATTERN", help="glob over row names")
    parser.add_argument("--quick", action="store_true", help="few short rounds, rough numbers")
    parser.add_argument("--no-incumbent", action="store_true", help="skip the incumbent")
    parser.add_argument(
        "--incumbent-python", type=Path, help="interpreter with the incumbent installed"
    )
    parser.add_argument("--check", action="store_true", help="exit status 1 if a target is missed")
    return parser.parse_args()


def choose_effort(options: argparse.Namespace) -> Effort:
    """Return the rounds and burst lengths for the options."""
    effort = QUICK_EFFORT if options.quick else FULL_EFFORT
    rounds = effort.rounds if options.rounds is None else max(1, options.rounds)
    return Effort(rounds, effort.burst_ns, effort.bursts)


def find_incumbent(options: argparse.Namespace) -> Interpreter | Unavailable:
    """Return the incumbent's interpreter, or the reason for its absence."""
    if options.no_incumbent:
        return Unavailable("skipped with --no-incumbent")
    try:
        return incumbent_interpreter(options.incumbent_python)
    except SetupError as error:
        return Unavailable(str(error))


def create_workers(
    interpreters: Mapping[str, Interpreter], library: Path, options: list[str]
) -> Workers:
    """Return an unstarted worker for each implementation."""
    kernels = ["--kernels", str(compile_kernels(library)), *options]
    workers: Workers = {
        name: python_worker(interpreter, kernels) for name, interpreter in interpreters.items()
    }
    try:
        floor = ["--floor", str(compile_floor(library)), "--library", str(library)]
    except (SetupError, ImportError) as error:
        workers[FLOOR] = Unavailable(str(error))
    else:
        workers[FLOOR] = python_worker(interpreters[OURS], [*kernels, *floor])
    return workers


def python_worker(interpreter: Interpreter, arguments: list[str]) -> WorkerProcess:
    """Return a worker that times calls from Python."""
    command = [str(interpreter.executable), "-m", "call.worker", *arguments]
    return WorkerProcess(command, interpreter.environment(), BENCHMARKS)


def create_cpp_workers(interpreters: Mapping[str, Interpreter]) -> Workers:
    """Return an unstarted compiled program for each implementation."""
    compilations: dict[str, Callable[[], Path]] = {
        name: functools.partial(compile_cpp_program, interpreter)
        for name, interpreter in interpreters.items()
    }
    compilations[FLOOR] = compile_cpp_floor
    environment = interpreters[OURS].environment()
    workers: Workers = {}
    for name, compilation in compilations.items():
        progress(f"compiling the C++ benchmark: {name}")
        try:
            workers[name] = WorkerProcess([str(compilation())], environment, BENCHMARKS)
        except SetupError as error:
            workers[name] = Unavailable(str(error))
    return workers


def run_calls(
    interpreters: Mapping[str, Interpreter], pattern: str, effort: Effort
) -> tuple[list[Row], dict[str, dict[str, str]]]:
    """Return the call and statement rows, and the versions that each worker ran with."""
    # The empty function is always measured, as the reference for the other rows.
    python_rows: tuple[CallRow | StatementRow, ...] = (*CALL_ROWS, *STATEMENT_ROWS)
    chosen = [row for row in python_rows if fnmatch.fnmatch(row.name, pattern)]
    if chosen and chosen[0].name != EMPTY_FUNCTION:
        chosen.insert(0, CALL_ROWS[0])
    if not chosen:
        return [], {}
    provider, library = first_library(list(interpreters.values()))
    measured: dict[str, Row] = {}
    versions: dict[str, dict[str, str]] = {}
    for title, options in (("calls", []), ("calls among arrays", ["--arrays"])):
        group = [row for row in chosen if row.among_arrays == bool(options)]
        if not group:
            continue
        workers = create_workers(interpreters, library, options)
        with running(workers):
            rows = measure_calls(group, workers, effort, progress, title)
            measured.update((row.name, row) for row in rows)
            for name, seen in ask_versions(workers).items():
                versions.setdefault(name, {}).update(seen)
    versions.setdefault(FLOOR, {})["libtvm_ffi of"] = provider.name
    return [measured[row.name] for row in chosen], versions


@contextlib.contextmanager
def running(workers: Workers) -> Iterator[None]:
    """End the worker processes when the ``with`` block is left."""
    with contextlib.ExitStack() as stack:
        for worker in workers.values():
            if isinstance(worker, WorkerProcess):
                stack.enter_context(worker)
        yield


def ask_versions(workers: Workers) -> dict[str, dict[str, str]]:
    """Return the versions that each worker runs with."""
    return {
        name: worker.ask({"versions": True}).get("versions", {})
        for name, worker in workers.items()
        if isinstance(worker, WorkerProcess)
    }


def run_cpp(interpreters: Mapping[str, Interpreter], pattern: str, effort: Effort) -> list[Row]:
    """Return the measured rows of the C++ API."""
    chosen = [row for row in CPP_ROWS if fnmatch.fnmatch(row.name, pattern)]
    if not chosen:
        return []
    workers = create_cpp_workers(interpreters)
    with running(workers):
        return measure_calls(chosen, workers, effort, progress, "C++ API")


def run_singles(interpreters: Mapping[str, Interpreter], pattern: str, effort: Effort) -> list[Row]:
    """Return the rows of imports, loading, builds, wrappers, adapters, launches and sizes."""
    rows: list[Row] = []
    order = list(interpreters.values())
    if fnmatch.filter(["import", "import_without_torch"], pattern):
        rows += measure_import(order, max(1, effort.rounds // IMPORT_ROUNDS_SHARE), progress)
    if fnmatch.filter([*load_names(), *find_names()], pattern):
        rows += measure_load(interpreters, effort.rounds, progress)
    if fnmatch.filter(BUILD_ROWS, pattern):
        rows += measure_build(order, max(1, effort.rounds // IMPORT_ROUNDS_SHARE), progress)
    if fnmatch.filter(WRAPPER_ROWS, pattern):
        rows += measure_wrapper(interpreters[OURS], effort.rounds, progress)
    if fnmatch.filter(TORCH_ROWS, pattern):
        rows += measure_torch(interpreters[OURS], effort.rounds, effort.burst_ns, progress)
    if fnmatch.filter(NUMBA_ROWS, pattern):
        rows += measure_numba(interpreters[OURS], effort.rounds, progress)
    if fnmatch.filter(XLA_ROWS, pattern):
        rows += measure_xla(interpreters[OURS], effort.rounds, progress)
    if fnmatch.filter(LAUNCH_ROWS, pattern):
        rows += measure_launch(interpreters[OURS], effort.rounds, progress)
    if fnmatch.filter(OBSERVE_ROWS, pattern):
        rows += measure_observers(interpreters[OURS], effort.rounds, progress)
    if fnmatch.filter(DEBUG_ROWS, pattern):
        rows += measure_debug(interpreters[OURS], effort.rounds, progress)
    if fnmatch.filter(["library_size", "total_size"], pattern):
        rows += measure_size(order)
    return rows


def progress(line: str) -> None:
    """Print a progress line to standard error; standard output has only the report."""
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    """Run the selected benchmarks; return the exit status."""
    options = parse_arguments()
    effort = choose_effort(options)
    interpreters = {OURS: our_interpreter()}
    incumbent = find_incumbent(options)
    if isinstance(incumbent, Interpreter):
        interpreters[INCUMBENT] = incumbent
    rows, versions = run_calls(interpreters, options.rows, effort)
    rows += run_cpp(interpreters, options.rows, effort)
    rows += run_singles(interpreters, options.rows, effort)
    if isinstance(incumbent, Unavailable):
        for row in rows:
            row.cells[INCUMBENT] = incumbent
    write_results(rows, describe_setting(versions))
    missed = [verdict for verdict in judge(rows) if verdict.is_met is False]
    return 1 if options.check and missed else 0


def write_results(rows: list[Row], setting: dict[str, object]) -> None:
    """Print the report; write it as text, JSON and SVG to ``build/bench``."""
    verdicts = judge(rows)
    report = format_report(setting, rows, verdicts)
    print(report)
    BUILD.mkdir(parents=True, exist_ok=True)
    cpp_names = {row.name for row in CPP_ROWS}
    outputs = {
        "results.txt": report + "\n",
        "results.json": json.dumps(to_json(setting, rows, verdicts), indent=1) + "\n",
        "results.svg": draw_chart(
            [row for row in rows if row.name not in cpp_names],
            f"{setting['machine']}; {setting['python']}",
        ),
        "results_cpp.svg": draw_chart(
            [row for row in rows if row.name in cpp_names], str(setting["machine"])
        ),
    }
    for name, text in outputs.items():
        (BUILD / name).write_text(text, encoding="utf-8")
    progress(f"wrote {', '.join(outputs)} to build/bench")


if __name__ == "__main__":
    sys.exit(main())
