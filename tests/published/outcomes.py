# SPDX-License-Identifier: Apache-2.0
"""Outcomes of the tests with third-party software, as a table in the test summary.

A folder of tests uses it by importing the hooks and the fixture in its ``conftest.py``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from published import Software, interpreter
from scratch_environment import SetupError

OUTCOMES = pytest.StashKey[dict[str, "Outcome"]]()
RUNTIMES = ("ours", "incumbent")


@dataclass(frozen=True)
class Outcome:
    """Outcome of one test."""

    word: str
    """The words passed, failed or skipped."""
    reason: str = ""
    """The reason for a failure or skip."""


@pytest.fixture(scope="session")
def environments():
    """Return a function that returns the interpreter for a package, or skips the test."""
    made: dict[tuple[str, str], Path | SetupError | AssertionError] = {}

    def get(software: Software, runtime: str = "ours") -> Path:
        key = software.name, runtime
        if key not in made:
            try:
                made[key] = interpreter(software, runtime)
            except (SetupError, AssertionError) as error:
                made[key] = error
        found = made[key]
        if isinstance(found, AssertionError):
            raise found
        if isinstance(found, SetupError):
            pytest.skip(f"{software.name} on {runtime}: {found}")
        return found

    return get


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "call" or report.outcome != "passed":
        item.config.stash.setdefault(OUTCOMES, {})[item.name] = _outcome_of(report, call)
    return report


def _outcome_of(report: pytest.TestReport, call: pytest.CallInfo[None]) -> Outcome:
    if call.excinfo is None:
        return Outcome(report.outcome)
    if hasattr(report, "wasxfail"):
        return Outcome("failed", report.wasxfail.removeprefix("reason: "))
    return Outcome(report.outcome, last_line(str(call.excinfo.value)))


def pytest_terminal_summary(terminalreporter, config):
    """Print a line for each test; both runtimes are side by side if both were tested."""
    outcomes = config.stash.get(OUTCOMES, {})
    if outcomes and "TVM_FFI_PUBLISHED" in os.environ:
        terminalreporter.section("with the software of others")
        for line in lines_of(outcomes):
            terminalreporter.write_line(line)


def last_line(text: str) -> str:
    """Return the last non-empty line: the last output of a program explains its failure."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def lines_of(outcomes: dict[str, Outcome]) -> list[str]:
    """Return the table of outcomes for the given names of tests.

    The names are ``test_NAME[SOFTWARE]``, or ``test_NAME[RUNTIME-SOFTWARE]`` where runtimes are
    compared.
    """
    rows: dict[str, dict[str, Outcome]] = {}
    for name, outcome in outcomes.items():
        row, runtime = _row_of(name)
        rows.setdefault(row, {})[runtime] = outcome
    columns = [each for each in RUNTIMES if any(each in row for row in rows.values())]
    lines = [f"{'':44}" + "".join(f"{each:10}" for each in columns).rstrip()]
    for row, found in rows.items():
        words = (found.get(each, Outcome("-")).word for each in columns)
        lines.append(f"{row:44}" + "".join(f"{word:10}" for word in words).rstrip())
        lines += [
            f"    {each}: {outcome.reason}" for each, outcome in found.items() if outcome.reason
        ]
    return lines


def _row_of(test_name: str) -> tuple[str, str]:
    test, _, parameters = test_name.rstrip("]").partition("[")
    name = test.removeprefix("test_").replace("_", " ")
    runtime, _, software = parameters.partition("-")
    if runtime not in RUNTIMES:
        runtime, software = "ours", parameters
    return (f"{software}: {name}" if software else name), runtime
