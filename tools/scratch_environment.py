# SPDX-License-Identifier: Apache-2.0
"""Environments made on demand and kept: what benchmarks and tests compare this package with.

Nothing here knows which tests or benchmarks there are.  A folder holds a stamp with all that was
asked for; when that changes, or when a set-up was interrupted, the folder is made again.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

PEER_REQUIREMENT = "apache-tvm-ffi==0.1.15.post2"

STAMP = "requirements.txt"


class SetupError(Exception):
    """Something that is needed could not be made; the message says what."""


def run_program(
    command: Sequence[str | Path],
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> str:
    """Run a program and return its standard output.

    Raises
    ------
    SetupError
        If it cannot be run or fails; the message holds the last line of its standard error.
    """
    arguments = [str(part) for part in command]
    try:
        done = subprocess.run(
            arguments, env=environment, cwd=folder, check=True, capture_output=True, text=True
        )
    except FileNotFoundError as error:
        raise SetupError(f"{arguments[0]}: command not found") from error
    except subprocess.CalledProcessError as error:
        raise SetupError(_last_line(error.stderr) or f"{arguments[0]} failed") from error
    return done.stdout


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def without_search_paths() -> dict[str, str]:
    """Return this process's variables without those that would lead to another package."""
    hidden = {"PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "LD_PRELOAD"}
    return {key: value for key, value in os.environ.items() if key not in hidden}


def make_environment(folder: Path, requirements: Sequence[str]) -> Path:
    """Return the interpreter of a virtual environment with these requirements.

    Raises
    ------
    SetupError
        If it cannot be made, for example without a package index.
    """
    python = folder / "bin" / "python"
    if not _is_made(folder, requirements):
        print(f"making the environment {folder.name} (once) ...", file=sys.stderr)
        run_program([sys.executable, "-m", "venv", "--clear", folder], without_search_paths())
        run_program([python, "-m", "pip", *_INSTALL, *requirements], without_search_paths())
        _mark_as_made(folder, requirements)
    return python


def unpack_wheels(folder: Path, requirements: Sequence[str]) -> Path:
    """Return a folder that holds these distributions, and none that they ask for.

    Raises
    ------
    SetupError
        If a wheel for this platform cannot be had.
    """
    return _unpack(folder, requirements, ["--no-deps"])


def unpack_with_dependencies(folder: Path, requirements: Sequence[str]) -> Path:
    """Return a folder that holds these distributions and all that they ask for.

    Raises
    ------
    SetupError
        As `unpack_wheels`.
    """
    return _unpack(folder, requirements, [])


def _unpack(folder: Path, requirements: Sequence[str], options: Sequence[str]) -> Path:
    if not _is_made(folder, requirements):
        shutil.rmtree(folder, ignore_errors=True)
        pip = [sys.executable, "-m", "pip", *_INSTALL, "--only-binary", ":all:", *options]
        run_program([*pip, "--target", folder, *requirements], without_search_paths())
        _mark_as_made(folder, requirements)
    return folder


_INSTALL = ("install", "--quiet", "--disable-pip-version-check", "--retries", "2")


def _stamp_text(requirements: Sequence[str]) -> str:
    return "\n".join([f"# Python {sys.version}".replace("\n", " "), *requirements])


def _is_made(folder: Path, requirements: Sequence[str]) -> bool:
    stamp = folder / STAMP
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == _stamp_text(requirements)


def _mark_as_made(folder: Path, requirements: Sequence[str]) -> None:
    (folder / STAMP).write_text(_stamp_text(requirements), encoding="utf-8")
