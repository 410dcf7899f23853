# SPDX-License-Identifier: Apache-2.0
"""Published packages that use the incumbent, run on this runtime and on the incumbent.

Run by `make test-clients`; the first run downloads several gigabytes.  Each client has one
environment per runtime.  The tests run a program based on the first example in the client's
documentation, and the test suite of its source distribution where it has one.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import pytest
from outcomes import RUNTIMES, last_line
from published import missing_commands, run, run_program_of, source
from replays import PROGRAM, run_calls

from .clients import CLIENTS

pytestmark = pytest.mark.skipif(
    "TVM_FFI_PUBLISHED" not in os.environ, reason="TVM_FFI_PUBLISHED not set: make test-clients"
)


@contextlib.contextmanager
def judged(runtime: str) -> Iterator[None]:
    """Report a client that fails also on the incumbent as a table row, not as a test failure."""
    try:
        yield
    except AssertionError as error:
        if runtime == "ours":
            raise
        pytest.xfail(last_line(str(error)))


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_program(environments, tmp_path, client, runtime):
    if missing := missing_commands(client):
        pytest.skip(f"{client.name}: no {', '.join(missing)}")
    with judged(runtime):
        run_program_of(client, environments(client, runtime), tmp_path)


@pytest.mark.parametrize("name", ["Apache TVM", "FlashInfer", "xgrammar"])
def test_recorded_calls_run_on_the_incumbent(environments, tmp_path, name):
    """The C program of calls that were recorded on this runtime, without Python."""
    (client,) = (client for client in CLIENTS if client.name == name)
    if missing := missing_commands(client):
        pytest.skip(f"{name}: no {', '.join(missing)}")
    run_program_of(client, environments(client, "ours"), tmp_path)
    printed = run_calls(tmp_path / PROGRAM, environments(client, "incumbent"))
    assert printed.splitlines()[-1] == "as recorded"


@pytest.mark.parametrize("client", [c for c in CLIENTS if c.suite], ids=lambda client: client.name)
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_suite(environments, tmp_path, client, runtime):
    with judged(runtime):
        python = environments(client, runtime)
        unpacked = source(client.suite, python)
        # Use the client's pytest settings, not those of this repository, which may contain the
        # sources.
        options = ["-q", "-p", "no:cacheprovider", "-c", unpacked / "pyproject.toml"]
        options += ["--rootdir", unpacked, unpacked / "tests"]
        run(client, python, "-m", "pytest", *options, folder=tmp_path)
