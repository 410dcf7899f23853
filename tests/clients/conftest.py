# SPDX-License-Identifier: Apache-2.0
"""Environments of the clients, and the table of what became of each."""

from __future__ import annotations

from pathlib import Path

import pytest
from scratch_environment import SetupError

from .clients import Client
from .environments import interpreter

OUTCOMES = pytest.StashKey[dict[str, str]]()


@pytest.fixture(scope="session")
def environments(pytestconfig: pytest.Config):
    """Return a function that gives the interpreter for a client, or skips the test."""
    made: dict[tuple[str, str], Path | SetupError] = {}

    def get(client: Client, runtime: str) -> Path:
        key = client.name, runtime
        if key not in made:
            try:
                made[key] = interpreter(client, runtime)
            except SetupError as error:
                made[key] = error
        found = made[key]
        if isinstance(found, SetupError):
            pytest.skip(f"{client.name} on {runtime}: {found}")
        return found

    return get


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "call" or report.skipped:
        outcomes = item.config.stash.setdefault(OUTCOMES, {})
        outcomes[item.name] = report.outcome
    return report


def pytest_terminal_summary(terminalreporter, config):
    """Print a line for each test, with both runtimes side by side."""
    outcomes = config.stash.get(OUTCOMES, {})
    rows: dict[str, dict[str, str]] = {}
    for name, outcome in outcomes.items():
        test, _, parameters = name.partition("[")
        runtime, _, client = parameters.rstrip("]").partition("-")
        rows.setdefault(f"{client}: {test.removeprefix('test_')}", {})[runtime] = outcome
    if not rows:
        return
    terminalreporter.section("clients")
    for row, by_runtime in rows.items():
        cells = (f"{runtime} {by_runtime.get(runtime, '-'):8}" for runtime in ("ours", "incumbent"))
        terminalreporter.write_line(f"{row:50} {'  '.join(cells)}")
