# SPDX-License-Identifier: Apache-2.0
"""Start of the reference inside a program, and the report of the rules that the program breaks.

Each violation is one line of JSON, written when it occurs: the program may crash later.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
from collections import Counter
from pathlib import Path

from ..reference.checks import Checks, SafeCall
from ..reference.rules import Rule, Violation
from ..reference.runtime import Runtime
from ..reference.values import ANY_SIZE, Raised

REPORT = "TVM_FFI_CONFORM_REPORT"  # environment variable: path of the report
NOT_TAKEN = Rule(
    "error.not-taken", "c-abi.md", "7.1 Object and kinds",
    "The caller of a function that fails takes the error with TVMFFIErrorMoveFromRaised.",
)  # fmt: skip
_running: list[Runtime] = []  # the runtime of the process, once it has started


class CallerChecks(Checks):
    """Checks of the reference and of the errors that a caller leaves in the slot."""

    def set_up(self) -> None:
        """Prepare the report."""
        super().set_up()
        self.violations = _Report(os.environ.get(REPORT))

    def call_from_native(self, function: SafeCall, func: int, args: int, n: int, out: int) -> int:
        """Check that the error of an earlier call was taken, then call."""
        # A callee may call functions while its own error is pending: only the outermost function
        # of a thread is called by a caller alone.
        if len(self.frames()) <= 1:
            self.check_taken()
        try:
            return super().call_from_native(function, func, args, n, out)
        except Raised as failure:
            self.runtime.errors.store(failure)
            return -1

    def check_argument(self, args: int, position: int) -> None:
        """Check one argument; refuse a deleted object, which the callee would read."""
        super().check_argument(args, position)
        handle = self.runtime.values.object_of(args + position * ANY_SIZE)
        if handle in self.runtime.objects.dead:
            raise Raised("InternalError", f"args[{position}] is a deleted object")

    def check_taken(self) -> None:
        """Report the pending error of the thread, and release it."""
        errors = self.runtime.errors
        self._report_pending(errors.pending_handle())
        errors.clear()

    def _report_pending(self, error: int) -> None:
        if error:
            detail = f"the error {self.runtime.errors.summary(error)!r} was not taken"
            function = f"caller of {self.runtime.objects.describe(error)}"
            self.violations.append(Violation(NOT_TAKEN, function, "error slot", detail))

    def forget_thread(self, number: int) -> None:
        """Report the pending error of a thread that has ended, and forget the thread."""
        self._report_pending(self.runtime.errors.pending.get(number, 0))
        super().forget_thread(number)

    def finish(self) -> None:
        """Report pending errors of all threads, leaks and late writes."""
        for error in list(self.runtime.errors.pending.values()):
            self._report_pending(error)
        self._report_kept()
        self.runtime.objects.end_scope()

    def _report_kept(self) -> None:
        """Report references of the program to objects that the runtime holds, too."""
        objects = self.runtime.objects
        records = list(objects.records.values())
        inner = Counter(
            each for record in records for each in objects.references_of(record.address)
        )
        for record in records:
            kept = objects.strong_count(record.address) - record.held - inner[record.address]
            if record.held > 0 and kept > 0:
                name = self.runtime.functions.names.get(record.address, "")
                self.report(
                    "object.leaked", f"{self.runtime.types.key_of(record.type_index)} {name}".strip(),
                    f"{kept} reference(s) of the program remain", function="program",
                )  # fmt: skip


class _Report(list):
    """Violations, written to a file as they are appended."""

    def __init__(self, path: str | None) -> None:
        super().__init__()
        self.path = path
        self.write({"started": sys.executable, "process": os.getpid()})

    def append(self, violation: Violation) -> None:
        """Add and write a violation."""
        super().append(violation)
        self.write({
            "rule": violation.rule.id, "function": violation.function,
            "argument": violation.argument, "detail": violation.detail,
        })  # fmt: skip

    def write(self, line: dict) -> None:
        """Write one line."""
        if self.path:
            with Path(self.path).open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")


def start(path: str) -> None:
    """Start the reference over the library at `path`; called when the library is loaded."""
    _running.append(Runtime(path, CallerChecks))
    if os.environ.get(REPORT):
        atexit.register(_end)


def finish_calls() -> list[Violation]:
    """Return the violations so far, with leaks; for the process that loaded the library."""
    _running[0].checks.finish()
    return list(_running[0].checks.violations)


def finish() -> None:
    """Report the state at the end of a program without Python."""
    _running[0].checks.finish()
    _end()


def _end() -> None:
    # Objects of a Python program may live until its modules are gone: no report of leaks here.
    _running[0].checks.violations.write({"ended": os.getpid()})
