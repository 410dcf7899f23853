# SPDX-License-Identifier: Apache-2.0
"""The incumbent's environment, and libraries built with its headers and with this project's.

All are stored in ``build/compat`` and reused; one pytest worker builds them.  The tests are skipped
if they are missing and no package index is available.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from filelock import FileLock
from scratch_environment import (
    INCUMBENT_REQUIREMENT,
    SetupError,
    make_environment,
    run_program,
    unpack_wheels,
    unpack_with_dependencies,
    without_search_paths,
)

from tvm_ffi import libinfo

from .exchanges import Outcomes, run_rows
from .libraries import Implementation, build_client, build_libraries, version_of_headers
from .rows import ROWS, Row

FOLDER = Path(__file__).resolve().parent
BUILD = FOLDER.parents[1] / "build" / "compat"


@contextmanager
def _one_worker() -> Iterator[None]:
    BUILD.mkdir(parents=True, exist_ok=True)
    with FileLock(BUILD / "lock"):
        yield


@pytest.fixture(scope="session")
def incumbent_python() -> Path:
    """Return the interpreter of an environment that contains only the incumbent."""
    try:
        with _one_worker():
            return make_environment(BUILD / "incumbent-venv", [INCUMBENT_REQUIREMENT])
    except SetupError as error:
        pytest.skip(f"no environment with {INCUMBENT_REQUIREMENT}: {error}")


@pytest.fixture(scope="session")
def ours() -> Implementation:
    """Return this project's installed package."""
    folders = tuple(libinfo.include_paths())
    library = Path(libinfo.find_libtvm_ffi())
    return Implementation("ours", folders, version_of_headers(folders), library)


@pytest.fixture(scope="session")
def incumbent(incumbent_python: Path) -> Implementation:
    """Return the incumbent's installed package."""

    def config_value(option: str) -> str:
        command = [incumbent_python, "-m", "tvm_ffi.config", option]
        return run_program(command, without_search_paths()).strip()

    folders = tuple(
        dict.fromkeys([config_value("--includedir"), config_value("--dlpack-includedir")])
    )
    library = Path(config_value("--libdir")) / "libtvm_ffi.so"
    return Implementation("incumbent", folders, INCUMBENT_REQUIREMENT, library)


@pytest.fixture(scope="session")
def exchange_libraries(
    ours: Implementation, incumbent: Implementation
) -> dict[str, tuple[Path, Path]]:
    """Return two copies of the library of each implementation."""
    with _one_worker():
        return build_libraries(BUILD / "exchange", ours, incumbent)


@pytest.fixture(scope="session")
def exchange(
    exchange_libraries: dict[str, tuple[Path, Path]], incumbent_python: Path
) -> Callable[..., Outcomes]:
    """Return a function that runs table rows with two libraries on one of the two runtimes."""
    interpreters = {
        "ours": (Path(sys.executable), dict(os.environ)),
        "incumbent": (incumbent_python, without_search_paths()),
    }

    @functools.cache
    def run(runtime: str, left: str, right: str, rows: Sequence[Row] = ROWS) -> Outcomes:
        pair = exchange_libraries[left][0], exchange_libraries[right][1]
        return run_rows(*interpreters[runtime], pair, rows)

    return run


@pytest.fixture(scope="session")
def client() -> Callable[..., Path]:
    """Return a function that unpacks published wheels into a folder, or skips the test."""

    @functools.cache
    def unpack(*requirements: str) -> Path | SetupError:
        try:
            with _one_worker():
                return unpack_wheels(BUILD / "clients" / requirements[0], requirements)
        except SetupError as error:
            return error

    def unpack_or_skip(*requirements: str) -> Path:
        folder = unpack(*requirements)
        if isinstance(folder, SetupError):
            pytest.skip(f"no {' '.join(requirements)}: {folder}")
        return folder

    return unpack_or_skip


@pytest.fixture(scope="session")
def pydantic() -> Path:
    """Return a folder with a fake of a package that clients require but do not use here."""
    try:
        with _one_worker():
            return unpack_with_dependencies(BUILD / "clients" / "pydantic", ["pydantic"])
    except SetupError as error:
        pytest.skip(f"no pydantic: {error}")


@pytest.fixture(scope="session")
def use_client(ours: Implementation) -> Callable[..., str | None]:
    """Return a function that builds a program and runs it with a published library.

    The function runs a row whose left library is the published one, and returns the outcome.
    """

    def use(source: str, published: Path, steps: Row) -> str | None:
        with _one_worker():
            program = build_client(BUILD / "programs", FOLDER / "clients" / source, ours)
        pair = published, program
        outcomes = run_rows(Path(sys.executable), dict(os.environ), pair, [steps])
        return outcomes.errors[steps.name]

    return use
