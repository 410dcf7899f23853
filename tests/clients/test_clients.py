# SPDX-License-Identifier: Apache-2.0
"""Published packages that were made for the incumbent, on our runtime and on theirs.

`make test-clients` runs this; the first time it downloads some gigabytes.  Each client has an
environment of its own for each of the two runtimes.  It runs a program of ours that does what the
client's documentation shows first, and the tests of its source distribution where that has some.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from scratch_environment import without_search_paths

from .clients import CLIENTS, Client
from .environments import source
from .table import last_line

pytestmark = pytest.mark.skipif(
    "TVM_FFI_CLIENTS" not in os.environ, reason="TVM_FFI_CLIENTS not set: make test-clients"
)
RUNTIMES = ["ours", "incumbent"]


def run(client: Client, python: Path, *arguments: str | Path, folder: Path) -> str:
    """Run an interpreter in an empty folder and return what it printed."""
    done = subprocess.run(
        [python, *arguments],
        env={**without_search_paths(), "TVM_FFI_CACHE_DIR": str(folder / "cache")},
        cwd=folder, capture_output=True, text=True, timeout=client.timeout_s, check=False,
    )  # fmt: skip
    if done.returncode != 0:  # an assertion would put words of its own behind the program's
        raise AssertionError(f"status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


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
    missing = [command for command in client.commands if shutil.which(command) is None]
    if missing:
        pytest.skip(f"{client.name}: no {', '.join(missing)}")
    with judged(runtime):
        python = environments(client, runtime)
        printed = run(client, python, client.path, folder=tmp_path)
        assert printed.splitlines()[-1] == "done"


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
