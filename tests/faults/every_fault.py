# SPDX-License-Identifier: Apache-2.0
"""Fault injection: each memory request and system call of two sessions fails once.

Prints a table.  The sessions are memory_session.py and system_session.py; each step runs in its own
process.  The exit status is 1 if a process crashed or a result was wrong.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
# Steps that make so many requests that only every n-th request fails, even if `every` is 1.
LONG_STEPS = {"inspect": 50, "side_file": 10, "describe": 5}
MEMORY_KINDS = ("native", "python")
MEMORY_STEPS = (
    *("load", "call", "tensors", "convert", "containers", "errors", "callbacks"),
    *("json", "objects", "registry", "modules", "side_file", "describe"),
    *("launch_plans", "wrappers", "inspect"),
)
SYSTEM_STEPS = ("load", "inspect", "build", "find", "export")


class Outcome(NamedTuple):
    """Outcome of one kind of failure (memory or system calls) in one step."""

    kind: str
    step: str
    failures: int
    absorbed: int


class Result(NamedTuple):
    """Output of a session's process."""

    outcomes: list[Outcome]
    problems: list[str]


def compile_preloaded(name: str, folder: Path) -> Path:
    """Return a library for LD_PRELOAD, built from its source in this folder."""
    library = folder / f"{name}.so"
    command = [*shlex.split(os.environ.get("CC", "cc")), "-std=gnu11", "-O1", "-shared", "-fPIC"]
    command += [str(HERE / f"{name}.c"), "-o", str(library), "-ldl"]
    subprocess.run(command, check=True)
    return library


def run_session(script: str, preloaded: Path, *arguments: str) -> Result:
    """Run a session, or some steps of a session, in a process."""
    done = subprocess.run(
        [sys.executable, str(HERE / script), *arguments],
        env={**os.environ, "LD_PRELOAD": str(preloaded)},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    problems = [line for line in lines if line.startswith("PROBLEM ")]
    if done.returncode != 0 or lines[-1:] != ["end"]:
        last = lines[-1] if lines else "nothing"
        problems.append(f"DIED ({done.returncode}) after {last!r}\n{done.stderr[-4000:]}")
    return Result([_outcome(line) for line in lines if line.startswith("done ")], problems)


def _outcome(line: str) -> Outcome:
    _, kind, step, failures, absorbed, *_ = line.split()
    return Outcome(kind, step, int(failures), int(absorbed))


def run_all(folder: Path, kernels: Path, every: int) -> Iterator[Result]:
    """Run all steps of both sessions."""
    memory = compile_preloaded("failing_memory", folder)
    for kind in MEMORY_KINDS:
        for step in MEMORY_STEPS:
            steps = max(every, LONG_STEPS.get(step, 1))
            yield run_session(
                "memory_session.py", memory, "--every", str(steps), kind, str(kernels), step
            )
    calls = compile_preloaded("failing_calls", folder)
    for step in SYSTEM_STEPS:
        yield run_session("system_session.py", calls, "--every", str(every), str(kernels), step)


def compile_kernels(folder: Path) -> Path:
    """Return the kernel library of the Python tests."""
    from tvm_ffi import libinfo

    sources = HERE.parent / "python" / "kernels"
    library = folder / "kernels.so"
    command = [*shlex.split(os.environ.get("CC", "cc")), "-std=gnu11", "-O1", "-shared", "-fPIC"]
    command += [f"-I{path}" for path in libinfo.include_paths()]
    command += [str(sources / f"{name}.c") for name in ("values", "errors", "tensors", "threads")]
    subprocess.run([*command, "-pthread", "-o", str(library)], check=True)
    return library


def main() -> int:
    """Run both sessions and print the table of outcomes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True, help="folder for what is compiled")
    parser.add_argument("--every", type=int, default=1, help="only each n-th failure")
    options = parser.parse_args()
    options.build.mkdir(parents=True, exist_ok=True)
    kernels = compile_kernels(options.build)
    totals: dict[str, list[int]] = {}
    problems = 0
    for result in run_all(options.build, kernels, options.every):
        for kind, step, failures, absorbed in result.outcomes:
            print(f"{kind:15} {step:12} {failures:7} failures {absorbed:7} absorbed", flush=True)
            total = totals.setdefault(kind, [0, 0])
            total[0] += failures
            total[1] += absorbed
        for problem in result.problems:
            print(problem, flush=True)
        problems += len(result.problems)
    for kind, (failures, absorbed) in totals.items():
        print(f"{kind:15} {'all':12} {failures:7} failures {absorbed:7} absorbed")
    print(f"{sum(total[0] for total in totals.values())} failures, {problems} problems")
    return int(problems > 0)


if __name__ == "__main__":
    sys.exit(main())
