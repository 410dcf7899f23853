# SPDX-License-Identifier: Apache-2.0
"""Run fuzz targets for a given time; print the executions of this run and all earlier runs.

Interesting inputs stay in a corpus, at which the next run begins.  Failing inputs are written to
``found`` beside the corpus, and the exit status is 1.  Each run adds a line to ``executions.tsv``
there.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
# Largest input of each target, in bytes.
NATIVE = {
    "c_api": 512,
    "cuda_image": 1024,
    "cuda_module": 1024,
    "dtype": 64,
    "json": 1024,
    "json_graph": 1024,
    "launch_program": 1024,
    "library_binary": 4096,
    "needed_symbols": 8192,
}
PYTHON = {
    "device_image": 4096,
    "inspect": 8192,
    "json_dialect": 256,
    "manifest": 1024,
    "recording": 1024,
    "signature": 1024,
    "state": 1024,
    "type_schema": 1024,
}
# libFuzzer's entropic schedule spends half of the time or more on the choice of the next input, and
# reaches less code in the same time.
OPTIONS = ["-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1", "-entropic=0"]
HISTORY = "executions.tsv"
ENVIRONMENT = {
    # Backtraces are most of the cost of a failure; a small quarantine of freed blocks keeps reused
    # memory in the cache.
    "TVM_TRACEBACK_LIMIT": "1",
    # An allocation that is too large returns NULL, as on a system without enough memory.
    "ASAN_OPTIONS": "allocator_may_return_null=1:max_allocation_size_mb=64:quarantine_size_mb=16",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
}


class Outcome(NamedTuple):
    """Outcome of one target's run."""

    target: str
    executions: int
    cpu_seconds: float
    corpus_files: int
    exit_status: int

    @property
    def verdict(self) -> str:
        """Return the outcome as one word for the table."""
        return "ok" if self.exit_status == 0 else f"FAILED ({self.exit_status})"


def main() -> int:
    """Run the targets that the arguments select."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True, help="folder of the native build")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--jobs", type=int, default=1, help="how many targets run at once")
    parser.add_argument("target", nargs="*", metavar="TARGET", help="all, unless some are named")
    options = parser.parse_args()
    known = {**NATIVE, **PYTHON}
    unknown = set(options.target) - set(known)
    if unknown:
        parser.error(f"no target {sorted(unknown)[0]!r}; there are {', '.join(known)}")

    def run_one(target: str) -> Outcome:
        return run(target, options.build, options.seconds)

    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(run_one, options.target or known))
    print_table(outcomes, executions_so_far(options.build))
    return int(any(outcome.exit_status != 0 for outcome in outcomes))


def run(target: str, build: Path, seconds: int) -> Outcome:
    """Run a target; print its messages if it fails."""
    corpus, found = build / "corpus" / target, build / "found"
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    folders = [corpus, HERE / "seeds" / target]
    command = [
        *program(target, build),
        *OPTIONS,
        f"-max_len={ {**NATIVE, **PYTHON}[target] }",
        f"-max_total_time={seconds}",
        f"-artifact_prefix={found}/{target}-",
        *(str(folder) for folder in folders if folder.is_dir()),
    ]
    if target == "c_api":  # the target limits its allocations by itself
        command.append("-malloc_limit_mb=0")
    print(f"{target} ...", flush=True)
    exit_status, cpu_seconds, log = run_measured(command)
    if exit_status != 0:
        print(log[-8000:])
    done = re.findall(r"stat::number_of_executed_units:\s*(\d+)|^#(\d+)\t", log, re.MULTILINE)
    executions = int(next(filter(None, done[-1]))) if done else 0
    with (build / HISTORY).open("a") as history:
        history.write(f"{target}\t{executions}\t{cpu_seconds:.1f}\t{exit_status}\n")
    files = sum(1 for _ in corpus.iterdir())
    return Outcome(target, executions, cpu_seconds, files, exit_status)


def run_measured(command: list[str]) -> tuple[int, float, str]:
    """Return a program's exit status, its processor time and its output."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command, env={**os.environ, **ENVIRONMENT}, stdout=log, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        log.seek(0)
        text = log.read().decode(errors="replace")
    return process.returncode, usage.ru_utime + usage.ru_stime, text


def executions_so_far(build: Path) -> Counter[str]:
    """Return the number of executions of each target in all runs."""
    so_far: Counter[str] = Counter()
    for line in (build / HISTORY).read_text().splitlines():
        target, executions, *_ = line.split("\t")
        so_far[target] += int(executions)
    return so_far


def program(target: str, build: Path) -> list[str]:
    """Return the target's command line, without its arguments."""
    if target in NATIVE:
        return [str(build / "tests" / "fuzz" / f"{target}_fuzz")]
    return [sys.executable, str(HERE / f"{target}_fuzz.py")]


def print_table(outcomes: list[Outcome], so_far: Counter[str]) -> None:
    """Print a line of the table for each target."""
    print(
        f"\n{'target':<16}{'executions':>12}{'CPU s':>8}{'per CPU s':>12}{'all runs':>14}"
        f"{'corpus':>8}  result"
    )
    for outcome in outcomes:
        rate = outcome.executions / max(outcome.cpu_seconds, 0.01)
        print(
            f"{outcome.target:<16}{outcome.executions:>12,}{outcome.cpu_seconds:>8.0f}"
            f"{rate:>12,.0f}{so_far[outcome.target]:>14,}{outcome.corpus_files:>8}  "
            f"{outcome.verdict}"
        )
    executions = sum(outcome.executions for outcome in outcomes)
    print(f"{'in all':<16}{executions:>12,}{'':>20}{sum(so_far.values()):>14,}")


if __name__ == "__main__":
    sys.exit(main())
