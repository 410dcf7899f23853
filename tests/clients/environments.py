# SPDX-License-Identifier: Apache-2.0
"""What clients run in: an environment for each of them and each runtime, made once and kept."""

from __future__ import annotations

import os
import shutil
import tarfile
from pathlib import Path

from scratch_environment import SetupError, make_environment, run_program, without_search_paths

from .clients import Client

BUILD = Path(os.environ.get("TVM_FFI_CLIENTS", "build/clients")).resolve()
PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")


def ours() -> Path:
    """Return the wheel of this package, which `make test-clients` has built."""
    (wheel,) = (BUILD / "wheel").glob("pytvmffi-*.whl")
    return wheel


def interpreter(client: Client, runtime: str) -> Path:
    """Return the interpreter of an environment with the client on one of the runtimes.

    Raises
    ------
    SetupError
        If something of others cannot be had, for example without a package index.
    AssertionError
        If this package cannot be installed, or a client not be built with it.
    """
    folder = BUILD / f"{client.name} on {runtime}".replace(" ", "-")
    variables = without_search_paths()
    python = make_environment(folder, list(client.needs) or ["pip"])
    if runtime == "ours":
        _must_succeed([python, *PIP, "--no-deps", "--force-reinstall", ours()])
        _must_succeed([python.parent / "tvm-ffi", "provide", "apache-tvm-ffi"])
    else:
        run_program([python, *PIP, client.incumbent], variables)
    if client.packages:
        run_program([python, *PIP, "--no-deps", *client.packages], variables)
    if client.built:
        copied = folder / "source"  # builds leave files, which know the environment
        shutil.rmtree(copied, ignore_errors=True)
        shutil.copytree(source(client.built, python), copied)
        _must_succeed([python, *PIP, "--no-deps", "--no-build-isolation", copied])
    return python


def _must_succeed(command: list[str | Path]) -> None:
    try:
        run_program(command, without_search_paths())
    except SetupError as error:
        raise AssertionError(f"{' '.join(map(str, command))}: {error}") from error


def source(requirement: str, python: Path) -> Path:
    """Return an unpacked source distribution.

    Raises
    ------
    SetupError
        If it cannot be had.
    """
    folder = BUILD / "sources" / requirement
    if not folder.is_dir():
        options = ("--no-deps", "--no-build-isolation", "--no-binary", ":all:", "--quiet")
        build = ("scikit-build-core", "cmake", "ninja")  # pip asks the build system for metadata
        run_program([python, *PIP, *build], without_search_paths())
        archives = folder.with_suffix(".archives")
        download = [python, "-m", "pip", "download", *options, "--dest", archives, requirement]
        run_program(download, without_search_paths())
        (archive,) = archives.glob("*.tar.gz")
        with tarfile.open(archive) as opened:
            opened.extractall(folder, filter="data")
    (unpacked,) = folder.iterdir()
    return unpacked
