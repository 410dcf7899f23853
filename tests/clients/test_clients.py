# SPDX-License-Identifier: Apache-2.0
"""Published packages that were made for the incumbent, on our runtime and on theirs.

`make test-clients` runs this; the first time it downloads some gigabytes.  Each client has an
environment of its own for each of the two runtimes.  It runs a program of ours that does what the
client's documentation shows first, and the tests of its source distribution where that has some.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import pytest
from outcomes import RUNTIMES, last_line
from published import missing_commands, run, run_program_of, source

from .clients import CLIENTS

pytestmark = pytest.mark.skipif(
    "TVM_FFI_PUBLISHED" not in os.environ, reason="TVM_FFI_PUBLISHED not set: make test-clients"
)


@contextlib.contextmanager
def judged(runtime: str) -> Iterator[None]:
    """Let what does not run on the incumbent's be a row of the table, and no defect of ours."""
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


@pytest.mark.parametrize("client", [c for c in CLIENTS if c.suite], ids=lambda client: client.name)
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_own_suite(environments, tmp_path, client, runtime):
    with judged(runtime):
        python = environments(client, runtime)
        unpacked = source(client.suite, python)
        # Their settings, not those of this repository, which the sources may lie in.
        options = ["-q", "-p", "no:cacheprovider", "-c", unpacked / "pyproject.toml"]
        options += ["--rootdir", unpacked, unpacked / "tests"]
        run(client, python, "-m", "pytest", *options, folder=tmp_path)
