# SPDX-License-Identifier: Apache-2.0
"""What became of each client, as lines of text: both runtimes side by side, and reasons."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """How one test ended."""

    word: str
    """passed, failed or skipped."""
    reason: str = ""
    """Why it did not pass."""


def last_line(text: str) -> str:
    """Return the last line that says something; what programs print last is why they ended."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def lines_of(outcomes: dict[str, Outcome]) -> list[str]:
    """Return the table of outcomes by the names of tests, `test_NAME[RUNTIME-CLIENT]`."""
    rows: dict[str, dict[str, Outcome]] = {}
    for name, outcome in outcomes.items():
        test, _, parameters = name.partition("[")
        runtime, _, client = parameters.rstrip("]").partition("-")
        what = test.removeprefix("test_").replace("_", " ")
        rows.setdefault(f"{client}: {what}", {})[runtime] = outcome
    missing = Outcome("-")
    lines = [f"{'':44}{'ours':10}incumbent"]
    for row, by_runtime in rows.items():
        ours, theirs = (by_runtime.get(name, missing) for name in ("ours", "incumbent"))
        lines.append(f"{row:44}{ours.word:10}{theirs.word}")
        lines += [f"    {name}: {x.reason}" for name, x in by_runtime.items() if x.reason]
    return lines
