# SPDX-License-Identifier: Apache-2.0
"""Conformance run of a runtime: selection of cases, must-pass lists by level, results."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..elf import LibraryFile, NotLoadable, machine_name, read_header
from ..results import Entry, Results, file_hash
from .case import CURRENT, Case, load_cases, parse_level
from .execution import execute

MUSTPASS = Path(__file__).parent / "mustpass"
_LEVEL = """
import ctypes, sys
out = (ctypes.c_uint32 * 3)()
ctypes.CDLL(sys.argv[1]).TVMFFIGetVersion(out)
print("level", *out)
"""


def must_pass(level: tuple[int, ...]) -> set[str]:
    """Return the identifiers that a runtime of `level` must pass.

    The file of a level lists the cases that begin there; ``-ID`` names a case that ended before.
    """
    found: set[str] = set()
    for path in sorted(MUSTPASS.glob("*.txt"), key=lambda each: parse_level(each.stem)):
        if parse_level(path.stem) > level:
            break
        for line in path.read_text(encoding="utf-8").split():
            if line.startswith("-"):
                found.discard(line[1:])
            else:
                found.add(line)
    return found


def write_must_pass(cases: dict[str, Case]) -> None:
    """Write the must-pass lists of all levels from the attributes of the cases."""
    MUSTPASS.mkdir(exist_ok=True)
    for level, lines in must_pass_lines(cases).items():
        (MUSTPASS / f"{level}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def must_pass_lines(cases: dict[str, Case]) -> dict[str, list[str]]:
    """Return the lines of the must-pass lists by level."""
    lines: dict[str, list[str]] = {}
    for patch in range(CURRENT[2] + 1):
        level = (0, 1, patch)
        begin = [case.id for case in cases.values() if case.since == level]
        before = (0, 1, patch - 1)
        end = [f"-{case.id}" for case in cases.values() if case.until == before]
        if begin or end:
            lines[f"0.1.{patch}"] = begin + end
    return lines


def reported_level(path: str, limit: float) -> tuple[int, ...] | None:
    """Return the level that a runtime reports, read in a process of its own; None if it fails."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", _LEVEL, path],
            capture_output=True, text=True, timeout=max(limit, 5.0), check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None
    match = re.search(r"^level (\d+) (\d+) (\d+)$", done.stdout, re.MULTILINE)
    level = tuple(map(int, match.groups())) if match else None
    return level if level and level >= (0, 1, 0) else None


def run_runtime(
    path: str,
    *,
    level: tuple[int, ...] | None = None,
    pattern: str = "",
    limit: float = 5.0,
    jobs: int | None = None,
    fork: bool | None = None,
    progress: Callable[[str], None] = lambda identifier: None,
) -> Results:
    """Run the cases on a runtime.

    Parameters
    ----------
    path : str
        Path of `libtvm_ffi.so`.
    level : tuple of int, optional
        Level whose must-pass list applies; by default the version that the runtime reports, and
        the current level if it reports none.
    pattern : str
        Regular expression; cases whose identifier contains no match are left out.
    limit, jobs, fork, progress
        See `execution.execute`.

    Returns
    -------
    Results
        The subject has ``load_error`` if no case could run.
    """
    path = str(Path(path).resolve())
    cases = [case for case in load_cases().values() if re.search(pattern, case.id)]
    subject: dict[str, Any] = {"path": path}
    reason = None
    try:
        header = read_header(path)
        subject.update(sha256=file_hash(path), machine=machine_name(header.machine))
        header.check_loadable()
        subject["soname"] = LibraryFile(path).soname
    except NotLoadable as error:
        reason = str(error)
    if reason is None and level is None:
        level = reported_level(path, limit)
        subject["reported_level"] = level and ".".join(map(str, level))
    level = min(level or CURRENT, CURRENT)
    subject["level"] = ".".join(map(str, level))
    outcome: dict[str, dict] = {}
    if reason is None:
        run = execute(path, cases, limit=limit, jobs=jobs, fork=fork, progress=progress)
        outcome, reason = run.results, run.load_error
    if reason is not None:
        subject["load_error"] = reason
    required = must_pass(level)
    missing = {"verdict": "not run", "detail": reason or "", "seconds": 0.0}
    entries = [
        Entry(
            id=case.id,
            required=case.id in required,
            document=case.section.document,
            heading=case.section.heading,
            rule=case.rule,
            repeat=f"tvm-ffi-conform runtime {path} --only '^{re.escape(case.id)}$'",
            **outcome.get(case.id, missing),
        )
        for case in cases
    ]
    return Results("runtime", subject, entries)
