# SPDX-License-Identifier: Apache-2.0
"""The peer's environment and the libraries that were built with its headers and with ours.

What is made lies in ``build/compat`` and is used again.  Without a package index the tests are
skipped, as long as it is not there.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from scratch_environment import (
    PEER_REQUIREMENT,
    SetupError,
    make_environment,
    run_program,
    unpack_wheels,
    without_search_paths,
)

from tvm_ffi import libinfo

from .exchanges import Outcomes, run_rows
from .libraries import Implementation, build_libraries, version_of_headers
from .rows import ROWS, Row

BUILD = Path(__file__).resolve().parents[2] / "build" / "compat"


@pytest.fixture(scope="session")
def peer_python() -> Path:
    """Return the interpreter of an environment that has the peer and nothing else."""
    try:
        return make_environment(BUILD / "peer-venv", [PEER_REQUIREMENT])
    except SetupError as error:
        pytest.skip(f"no environment with {PEER_REQUIREMENT}: {error}")


@pytest.fixture(scope="session")
def ours() -> Implementation:
    """Return the installed package."""
    folders = tuple(libinfo.include_paths())
    library = Path(libinfo.find_libtvm_ffi())
    return Implementation("ours", folders, version_of_headers(folders), library)


@pytest.fixture(scope="session")
def peer(peer_python: Path) -> Implementation:
    """Return the peer."""

    def ask(option: str) -> str:
        command = [peer_python, "-m", "tvm_ffi.config", option]
        return run_program(command, without_search_paths()).strip()

    folders = tuple(dict.fromkeys([ask("--includedir"), ask("--dlpack-includedir")]))
    library = Path(ask("--libdir")) / "libtvm_ffi.so"
    return Implementation("peer", folders, PEER_REQUIREMENT, library)


@pytest.fixture(scope="session")
def exchange_libraries(ours: Implementation, peer: Implementation) -> dict[str, tuple[Path, Path]]:
    """Return two copies of the library of each implementation."""
    return build_libraries(BUILD / "exchange", ours, peer)


@pytest.fixture(scope="session")
def exchange(
    exchange_libraries: dict[str, tuple[Path, Path]], peer_python: Path
) -> Callable[..., Outcomes]:
    """Return a function that runs rows with two libraries on one of the runtimes."""
    interpreters = {
        "ours": (Path(sys.executable), dict(os.environ)),
        "peer": (peer_python, without_search_paths()),
    }

    @functools.cache
    def run(runtime: str, left: str, right: str, rows: Sequence[Row] = ROWS) -> Outcomes:
        pair = exchange_libraries[left][0], exchange_libraries[right][1]
        return run_rows(*interpreters[runtime], pair, rows)

    return run


@pytest.fixture(scope="session")
def client() -> Callable[..., Path]:
    """Return a function that unpacks published wheels into a folder, or skips the test."""

    def unpack(*requirements: str) -> Path:
        try:
            return unpack_wheels(BUILD / "clients" / requirements[0], requirements)
        except SetupError as error:
            pytest.skip(f"no {' '.join(requirements)}: {error}")

    return unpack
