# SPDX-License-Identifier: Apache-2.0
"""Worker process of the call benchmark: times rows of one implementation on request.

Protocol: one JSON object per line.  At start the worker writes a greeting, ``{"versions": ...}`` or
``{"unavailable": REASON}``.  It answers each request ``{"row": NAME, "burst_ns": N, "bursts": N}``
with ``{"ns": [...]}`` or ``{"unavailable": REASON}``.  It answers ``{"versions": true}`` with the
versions of all modules that are loaded by then.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any, TextIO

from python_api.rows import STATEMENT_ROWS, StatementRow

from call.rows import CALL_ROWS, CallRow
from call.subjects import FloorSubject, PackageSubject, Subject
from call.timing import Prepared, Timer
from call.verify import verify, verify_statement

PYTHON_ROWS: tuple[CallRow | StatementRow, ...] = (*CALL_ROWS, *STATEMENT_ROWS)
ROWS = {row.name: row for row in PYTHON_ROWS}


class Worker:
    """Timer of the rows of one subject; it caches the prepared rows."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._timers: dict[str, Timer] = {}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to one request."""
        if "versions" in request:
            return {"versions": self._subject.versions()}
        row = ROWS[request["row"]]
        if isinstance(row, CallRow):
            self._subject.select(row)
        if row.name not in self._timers:
            prepared = self._prepare_call(row) if isinstance(row, CallRow) else self._execute(row)
            gc.collect()
            gc.freeze()  # garbage collections after a measurement skip these objects
            self._timers[row.name] = Timer(prepared)
        return {"ns": self._timers[row.name].measure(request["burst_ns"], request["bursts"])}

    def _prepare_call(self, row: CallRow) -> Prepared:
        """Return the row's call after verifying its result."""
        prepared = self._subject.prepare(row)
        verify(self._subject, row, prepared)
        return prepared.timed(raises=row.kernel == "raise_error")

    def _execute(self, row: StatementRow) -> Prepared:
        """Return the row's statement after verifying its effect."""
        names = self._subject.execute(row)
        verify_statement(row, names)
        return Prepared(row.statement, names)


def describe(error: BaseException) -> str:
    """Return one line with the exception's type and message."""
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def take_stdout() -> TextIO:
    """Return the pipe to the parent, and redirect standard output to standard error.

    Other code in the process may print.
    """
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers


def create_subject(options: argparse.Namespace) -> Subject:
    """Return the subject selected by the options."""
    if options.arrays:
        load_arrays()
    if options.floor is not None:
        return FloorSubject(options.kernels, options.floor, options.library, options.arrays)
    return PackageSubject(options.kernels)


def load_arrays() -> None:
    """Import NumPy, and torch if it is installed, before any row is measured."""
    importlib.import_module("numpy")
    with contextlib.suppress(ImportError):
        importlib.import_module("torch")


def serve(options: argparse.Namespace, requests: TextIO, answers: TextIO) -> None:
    """Answer requests until the parent closes the pipe."""
    try:
        worker = Worker(create_subject(options))
    # The parent reports the exception as the reason for the missing value.
    except Exception as error:
        print(json.dumps({"unavailable": describe(error)}), file=answers)
        return
    print(json.dumps(worker.answer({"versions": True})), file=answers)
    for line in requests:
        try:
            answer = worker.answer(json.loads(line))
        except Exception as error:
            answer = {"unavailable": describe(error)}
        print(json.dumps(answer), file=answers)


def main() -> None:
    """Run the worker process: read the options, then answer requests."""
    parser = argparse.ArgumentParser(description="Worker of the call benchmark.")
    parser.add_argument("--kernels", type=Path, required=True)
    parser.add_argument("--floor", type=Path, help="floor extension; default: the tvm_ffi package")
    parser.add_argument("--library", type=Path, help="libtvm_ffi for the floor")
    parser.add_argument("--arrays", action="store_true", help="load NumPy and torch first")
    gc.disable()
    serve(parser.parse_args(), sys.stdin, take_stdout())


if __name__ == "__main__":
    main()
