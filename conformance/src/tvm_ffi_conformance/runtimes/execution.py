# SPDX-License-Identifier: Apache-2.0
"""Executor of runtime cases: worker processes, time limits, and verdicts for dead workers.

The calling process never loads the runtime. Each worker answers within the limit of a case and
some grace; a worker that does not answer is killed, and another one continues with the next case.
A runtime that hangs in many cases is given up, so a run always ends.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .case import Case
from .worker import ALONE

LOAD_LIMIT = 20.0  # seconds until a runtime must be loaded
GRACE = 5.0  # seconds that a worker may need in addition to the limit of a case
SHORT_LIMIT = 0.5  # seconds for a case after several cases hung
HANGS_UNTIL_SHORT = 3
HANGS_UNTIL_STOP = 12


@dataclass
class Execution:
    """State of one run, shared by its workers.

    Attributes
    ----------
    results : dict
        Verdict, detail and seconds by case identifier.
    load_error : str or None
        Reason why no case could run.
    """

    path: str
    limit: float
    fork: bool
    results: dict[str, dict] = field(default_factory=dict)
    load_error: str | None = None
    hangs: int = 0
    until_failure: bool = False
    failed: bool = False
    progress: Callable[[str], None] = lambda identifier: None
    worker: Sequence[str] = ("tvm_ffi_conformance.runtimes.worker",)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def stopped(self) -> bool:
        """True if the rest of the cases must not run."""
        if self.until_failure and self.failed:
            return True
        return self.load_error is not None or self.hangs >= HANGS_UNTIL_STOP

    def case_limit(self) -> float:
        """Return the seconds that the next case may take."""
        return min(self.limit, SHORT_LIMIT) if self.hangs >= HANGS_UNTIL_SHORT else self.limit

    def record(self, identifier: str, result: dict) -> None:
        """Record the result of a case."""
        with self.lock:
            self.results[identifier] = result
            self.hangs += result["verdict"] == "hang"
            self.failed |= result["verdict"] != "pass"
            self.progress(identifier)


def execute(
    path: str,
    cases: Sequence[Case],
    *,
    limit: float = 5.0,
    jobs: int | None = None,
    fork: bool | None = None,
    progress: Callable[[str], None] = lambda identifier: None,
    worker: Sequence[str] = ("tvm_ffi_conformance.runtimes.worker",),
    until_failure: bool = False,
) -> Execution:
    """Run `cases` on the runtime at `path`.

    Parameters
    ----------
    path : str
        Path of the library.
    cases : sequence of Case
        Cases to run.
    limit : float
        Seconds that a case may take.
    jobs : int, optional
        Number of workers; by default one for each processor, at most 4.
    fork : bool, optional
        Run each case in a forked child of a worker; by default where `fork` exists.
    progress : callable
        Called with the identifier of each finished case.
    worker : sequence of str
        Module that the worker processes run, and its further arguments.
    until_failure : bool
        Stop after the first case that does not pass.
    """
    fork = hasattr(os, "fork") if fork is None else fork
    run = Execution(
        path, limit, fork, progress=progress, worker=worker, until_failure=until_failure
    )
    jobs = max(1, min(jobs or min(4, os.cpu_count() or 1), len(cases)))
    threads = [
        threading.Thread(target=_serve, args=(run, list(cases[number::jobs])))
        for number in range(jobs)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    reason = run.load_error or f"stopped after {run.hangs} cases that did not end"
    for case in cases:
        run.results.setdefault(case.id, {"verdict": "not run", "detail": reason, "seconds": 0.0})
    return run


def _serve(run: Execution, remaining: list[Case]) -> None:
    """Run the cases in workers, one after another."""
    while remaining and not run.stopped:
        worker = _Worker(run)
        try:
            if not worker.ready():
                return
            while remaining and not run.stopped and worker.usable:
                worker.run(remaining.pop(0))
        finally:
            worker.close()


class _Worker:
    """One worker process."""

    def __init__(self, run: Execution) -> None:
        self.execution = run
        self.usable = True
        self.limit = run.case_limit()
        reader, writer = os.pipe()
        mode = str(self.limit) if run.fork else ALONE
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                run.worker[0],
                run.path,
                str(writer),
                mode,
                *run.worker[1:],
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[writer],
            text=True,
            env=environment(),
        )
        os.close(writer)
        self.lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, args=(reader,), daemon=True).start()

    def _read(self, reader: int) -> None:
        with os.fdopen(reader) as stream:
            for line in stream:
                self.lines.put(line)
        self.lines.put(None)

    def _answer(self, seconds: float) -> dict | str:
        """Return the next object, or "hang" or "end" if there is none."""
        try:
            line = self.lines.get(timeout=seconds)
        except queue.Empty:
            return "hang"
        return json.loads(line) if line else "end"

    def ready(self) -> bool:
        """Return True if the runtime is loaded; record the reason otherwise."""
        answer = self._answer(LOAD_LIMIT)
        if isinstance(answer, dict):
            self.execution.load_error = answer.get("load_error")
        elif answer == "hang":
            self.execution.load_error = f"the library did not load within {LOAD_LIMIT:g} s"
        else:
            self.process.wait(GRACE)
            self.execution.load_error = f"loading the library {_how(self.process.returncode)}"
        return self.execution.load_error is None

    def run(self, case: Case) -> None:
        """Run one case and record its result."""
        try:
            print(case.id, file=self.process.stdin, flush=True)
            self._answer(GRACE)  # the line that says that the case started
        except OSError:
            pass  # the answer below says how the worker ended
        answer = self._answer(self.limit + (GRACE if self.execution.fork else 0))
        if isinstance(answer, dict):
            answer.pop("id")
            answer.setdefault("seconds", 0.0)
            self.execution.record(case.id, answer)
            self.usable = self.execution.fork and self.limit == self.execution.case_limit()
            return
        self.usable = False
        if answer == "hang":
            result = {"verdict": "hang", "detail": f"no end within {self.limit:g} s"}
        else:
            self.process.wait(GRACE)
            status = self.process.returncode
            expected = case.ends is not None and status == case.ends
            verdict = "pass" if expected else "crash" if (status or 0) < 0 else "exit"
            result = {
                "verdict": verdict,
                "detail": "" if expected else f"the process {_how(status)}",
            }
        self.execution.record(case.id, {**result, "seconds": self.limit})

    def close(self) -> None:
        """End the worker."""
        try:
            self.process.stdin.close()
            self.process.wait(1.0)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()


def environment() -> dict[str, str]:
    """Return the environment of workers, which find this package wherever it is."""
    source = str(Path(__file__).resolve().parents[2])
    paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
    # Modules in the current folder must not hide modules of Python.
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONSAFEPATH": "1"}


def _how(status: int | None) -> str:
    """Return a description of how a process ended."""
    if status is None:
        return "did not end"
    return f"died of signal {-status}" if status < 0 else f"ended with status {status}"
