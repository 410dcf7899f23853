# SPDX-License-Identifier: Apache-2.0
"""Cached virtual environments for tests and benchmarks, such as one with the incumbent.

The incumbent is apache-tvm-ffi.  Each environment has a stamp file with its requirements; it is
created again if the requirements change, or if its creation was interrupted.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

INCUMBENT_REQUIREMENT = "apache-tvm-ffi==0.1.15.post2"

STAMP = "requirements.txt"


class SetupError(Exception):
    """An environment could not be created; the message names the failed step."""


def run_program(
    command: Sequence[str | Path],
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> str:
    """Run a program and return its standard output.

    Raises
    ------
    SetupError
        If the program cannot be run or fails.  The message is the last line that it has written to
        standard error.
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
    """Return the environment variables of this process without search paths for code."""
    hidden = {"PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "LD_PRELOAD"}
    return {key: value for key, value in os.environ.items() if key not in hidden}


def make_environment(folder: Path, requirements: Sequence[str]) -> Path:
    """Create a virtual environment with these requirements, unless it exists; return its Python.

    Raises
    ------
    SetupError
        If the environment cannot be created, for example without a package index.
    """
    python = folder / "bin" / "python"
    if not _is_made(folder, requirements):
        print(f"making the environment {folder.name} (once) ...", file=sys.stderr)
        run_program([sys.executable, "-m", "venv", "--clear", folder], without_search_paths())
        run_program([python, "-m", "pip", *_INSTALL, *requirements], without_search_paths())
        _mark_as_made(folder, requirements)
    return python


def unpack_wheels(folder: Path, requirements: Sequence[str]) -> Path:
    """Unpack these distributions into a folder, without their dependencies; return the folder.

    Raises
    ------
    SetupError
        If the package index has no wheel for this platform.
    """
    return _unpack(folder, requirements, ["--no-deps"])


def unpack_with_dependencies(folder: Path, requirements: Sequence[str]) -> Path:
    """Unpack these distributions and their dependencies into a folder; return the folder.

    Raises
    ------
    SetupError
        See `unpack_wheels`.
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
