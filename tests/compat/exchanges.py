# SPDX-License-Identifier: Apache-2.0
"""Runs of table rows in separate processes, so that a crash is the outcome of one row only."""

from __future__ import annotations

import dataclasses
import json
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .rows import Row

WORKER = Path(__file__).resolve().parent / "worker.py"
TIMEOUT_S = 300


@dataclasses.dataclass
class Outcomes:
    """Outcomes of the rows of one pair of libraries."""

    errors: dict[str, str | None]
    """Error messages by the name of the row; None if the row succeeded."""
    runtimes: list[str]
    """The libtvm_ffi files that the process had loaded."""


def run_rows(
    python: Path,
    environment: Mapping[str, str],
    libraries: tuple[Path, Path],
    rows: Sequence[Row],
) -> Outcomes:
    """Run rows; after a row that ends its process, run the remaining rows in a new process."""
    outcomes = Outcomes({}, [])
    command = [str(python), str(WORKER), *map(str, libraries)]
    while remaining := [row for row in rows if row.name not in outcomes.errors]:
        _run_until_crash(command, environment, remaining, outcomes)
    return outcomes


def _run_until_crash(
    command: list[str], environment: Mapping[str, str], rows: Sequence[Row], outcomes: Outcomes
) -> None:
    done = subprocess.run(
        command,
        input=json.dumps([dataclasses.asdict(row) for row in rows], default=_encode),
        env=dict(environment),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert answers, f"the worker printed no outcome:\n{done.stderr}"
    outcomes.runtimes = answers.pop(0)["runtimes"]
    outcomes.errors.update({answer["row"]: answer["error"] for answer in answers})
    if len(answers) < len(rows):
        reason = _describe_end(done.returncode)
        outcomes.errors[rows[len(answers)].name] = f"{reason}\n{done.stderr[-2000:]}"


def _encode(value: Any) -> str:
    assert value is ..., f"{value!r} is no argument of a step"
    return "..."


def _describe_end(code: int) -> str:
    return f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
