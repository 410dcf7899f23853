# SPDX-License-Identifier: Apache-2.0
"""Compile time and object size of sources that include the C++ headers.

The same sources are compiled at -O2 with our headers and, with ``--incumbent-include``, alternately
with the incumbent's.  The time is the compiler's CPU time, user and system, which is not sensitive
to other load on the machine.  The size is that of code, constant data and tables (``size`` without
debug information).  A ratio divides our minimum by the incumbent's; below 1, ours is smaller.
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
OUR_INCLUDE = HERE.parents[1] / "include"
FLAGS = ("-std=c++17", "-O2", "-fPIC")


@dataclass(frozen=True)
class Source:
    """A source file with the largest allowed ratios to the incumbent."""

    name: str
    time_target: float
    size_target: float | None


SOURCES = (
    Source("two_tensors", 0.33, None),
    Source("eight_exports", 0.15, 0.25),
)


@dataclass
class Measurement:
    """Measurements of one source compiled with one set of headers."""

    times_ms: list[float] = field(default_factory=list)
    size_bytes: int = 0


def main() -> int:
    """Measure and print the tables; return 1 if ``--check`` is given and a target is missed."""
    options = _parse_arguments()
    includes = {"ours": [OUR_INCLUDE]}
    if options.incumbent_include:
        includes["incumbent"] = options.incumbent_include
    version = subprocess.run(
        [options.compiler, "--version"], check=True, capture_output=True, text=True
    )
    print(f"machine: {platform.processor() or platform.machine()}, {os.cpu_count()} CPUs")
    print(f"compiler: {version.stdout.splitlines()[0]} {shlex.join(FLAGS)}")
    print(f"rounds: {options.rounds}\n")
    results = {source: _measure(source, includes, options) for source in SOURCES}
    _print_table(results)
    missed = _print_targets(results) if "incumbent" in includes else 0
    return 1 if options.check and missed else 0


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--incumbent-include",
        action="append",
        type=Path,
        metavar="DIR",
        help="include directory of the incumbent's headers; may be repeated",
    )
    parser.add_argument("--rounds", type=int, default=5, help="compilations per cell")
    parser.add_argument("--compiler", default=os.environ.get("CXX", "c++"))
    parser.add_argument("--check", action="store_true", help="exit status 1 if a target is missed")
    return parser.parse_args()


def _measure(
    source: Source, includes: dict[str, list[Path]], options: argparse.Namespace
) -> dict[str, Measurement]:
    """Compile one source with each set of headers, interleaved; round 0 warms the file caches."""
    cells = {name: Measurement() for name in includes}
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "kernel.o"
        for number in range(options.rounds + 1):
            for name, folders in includes.items():
                time_ms = _compile_ms(options.compiler, source, folders, output)
                if number > 0:
                    cells[name].times_ms.append(time_ms)
                cells[name].size_bytes = _loaded_size(output)
    return cells


def _compile_ms(compiler: str, source: Source, folders: list[Path], output: Path) -> float:
    """Return the CPU time of one compilation, including the compiler's child processes."""
    include_flags = [f"-I{folder}" for folder in folders]
    source_path = str(HERE / f"{source.name}.cc")
    command = [compiler, *FLAGS, *include_flags, "-c", source_path, "-o", str(output)]
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"compilation failed: {shlex.join(command)}")
    return (usage.ru_utime + usage.ru_stime) * 1000


def _loaded_size(output: Path) -> int:
    """Return the bytes of an object file that are loaded into memory."""
    listing = subprocess.run(["size", output], check=True, capture_output=True, text=True)
    return int(listing.stdout.splitlines()[1].split()[3])


def _ratio(cells: dict[str, Measurement], attribute: str) -> float:
    values = {name: _figures(cell)[attribute] for name, cell in cells.items()}
    return values["ours"] / values["incumbent"]


def _figures(cell: Measurement) -> dict[str, float]:
    return {"time": min(cell.times_ms), "size": cell.size_bytes}


def _print_table(results: dict[Source, dict[str, Measurement]]) -> None:
    print(f"{'source':16}{'headers':9}{'min ms':>9}{'median ms':>11}{'bytes':>10}")
    for source, cells in results.items():
        for name, cell in cells.items():
            median = statistics.median(cell.times_ms)
            print(
                f"{source.name:16}{name:9}{min(cell.times_ms):9.0f}{median:11.0f}"
                f"{cell.size_bytes:10}"
            )


def _print_targets(results: dict[Source, dict[str, Measurement]]) -> int:
    """Print each ratio with its target; return the number of missed targets."""
    print()
    missed = 0
    for source, cells in results.items():
        targets = (("time", source.time_target), ("size", source.size_target))
        for attribute, target in targets:
            ratio = _ratio(cells, attribute)
            verdict = "no target"
            if target is not None:
                missed += ratio > target
                verdict = f"target {target:.2f}, {'met' if ratio <= target else 'MISSED'}"
            print(f"{source.name} {attribute}: ours/incumbent {ratio:.3f} ({verdict})")
    return missed


if __name__ == "__main__":
    sys.exit(main())
