# SPDX-License-Identifier: Apache-2.0
"""Environments of the clients, and the table of what became of each."""

from __future__ import annotations

from pathlib import Path

import pytest
from scratch_environment import SetupError

from .clients import Client
from .environments import interpreter
from .table import Outcome, last_line, lines_of

OUTCOMES = pytest.StashKey[dict[str, Outcome]]()


@pytest.fixture(scope="session")
def environments(pytestconfig: pytest.Config):
    """Return a function that gives the interpreter for a client, or skips the test."""
    made: dict[tuple[str, str], Path | SetupError | AssertionError] = {}

    def get(client: Client, runtime: str) -> Path:
        key = client.name, runtime
        if key not in made:
            try:
                made[key] = interpreter(client, runtime)
            except (SetupError, AssertionError) as error:
                made[key] = error
        found = made[key]
        if isinstance(found, AssertionError):
            raise found
        if isinstance(found, SetupError):
            pytest.skip(f"{client.name} on {runtime}: {found}")
        return found

    return get


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "call" or report.outcome != "passed":
        item.config.stash.setdefault(OUTCOMES, {})[item.name] = outcome_of(report, call)
    return report


def outcome_of(report: pytest.TestReport, call: pytest.CallInfo[None]) -> Outcome:
    if call.excinfo is None:
        return Outcome(report.outcome)
    if hasattr(report, "wasxfail"):
        return Outcome("failed", report.wasxfail.removeprefix("reason: "))
    return Outcome(report.outcome, last_line(str(call.excinfo.value)))


def pytest_terminal_summary(terminalreporter, config):
    """Print a line for each test, with both runtimes side by side."""
    outcomes = config.stash.get(OUTCOMES, {})
    if outcomes:
        terminalreporter.section("clients")
        for line in lines_of(outcomes):
            terminalreporter.write_line(line)
