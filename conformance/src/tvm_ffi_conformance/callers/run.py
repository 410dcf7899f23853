# SPDX-License-Identifier: Apache-2.0
"""Conformance run of a caller: a command runs with the reference as its runtime."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..reference.rules import RULES, Rule
from ..results import Entry, Results
from .library import build
from .start import NOT_TAKEN, REPORT

_MOST_TOLD = 5  # violations of one rule that a result describes


def run_caller(command: Sequence[str], *, limit: float = 60.0) -> Results:
    """Run a command and return one result for each rule that a program can break.

    Parameters
    ----------
    command : sequence of str
        Program and arguments. Its ``libtvm_ffi.so`` is replaced by the reference.
    limit : float
        Seconds that the command may take.

    Returns
    -------
    Results
        The subject has ``load_error`` if the command does not load ``libtvm_ffi.so``.

    Raises
    ------
    ValueError
        If the command is empty.
    OSError
        If the command cannot be started.
    """
    if not command:
        raise ValueError("caller: expected a command after --")
    with tempfile.TemporaryDirectory() as folder:
        report = build(Path(folder)).with_name("report")
        paths = [folder, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        environment = {
            **os.environ,
            REPORT: str(report),
            "LD_LIBRARY_PATH": os.pathsep.join(paths),
        }
        process = subprocess.Popen(command, env=environment)
        try:
            status: int | None = process.wait(limit)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            status = None
        lines = report.read_text(encoding="utf-8").splitlines() if report.exists() else []
    subject: dict[str, Any] = {"path": shlex.join(command)}
    events = [json.loads(line) for line in lines]
    if not any("started" in each for each in events):
        subject["load_error"] = (
            "the command did not load the reference: it uses no libtvm_ffi.so, or its DT_RPATH names a "
            "folder with another one (link with -Wl,--enable-new-dtags)"
        )
    found = [each for each in events if "rule" in each]
    rules = [*RULES.values(), NOT_TAKEN]
    entries = [_end(command, status, limit), *(_entry(rule, command, found) for rule in rules)]
    return Results("caller", subject, entries)


def _end(command: Sequence[str], status: int | None, limit: float) -> Entry:
    """Return the result for the end of the command."""
    verdict, detail = "pass", ""
    if status is None:
        verdict, detail = "hang", f"no end within {limit:g} s"
    elif status < 0:
        verdict, detail = "crash", f"died of {signal.Signals(-status).name}"
    elif status > 0:
        verdict, detail = "exit", f"exit status {status}"
    return Entry(
        "caller.end", verdict, True, "c-abi.md", "6.1 Conventions",
        "The program ends with status 0.", detail, where=command[0], repeat=_repeat(command),
    )  # fmt: skip


def _entry(rule: Rule, command: Sequence[str], found: list[dict[str, str]]) -> Entry:
    """Return the result for one rule."""
    broken = [each for each in found if each["rule"] == rule.id]
    places = list(dict.fromkeys(f"{e['function']}, {e['argument']}: {e['detail']}" for e in broken))
    detail = "; ".join(places[:_MOST_TOLD])
    if len(places) > _MOST_TOLD:
        detail += f"; and {len(places) - _MOST_TOLD} more"
    return Entry(
        f"caller.{rule.id}", "fail" if broken else "pass", True, rule.document, rule.heading,
        rule.sentence, detail, where=broken[0]["function"] if broken else "", repeat=_repeat(command),
    )  # fmt: skip


def _repeat(command: Sequence[str]) -> str:
    return f"tvm-ffi-conform caller -- {shlex.join(command)}"
