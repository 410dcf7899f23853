# SPDX-License-Identifier: Apache-2.0
"""Steps with which environments.py and emulated.py make test environments.

The module uses only the standard library, because some environments are made before .venv exists.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Callable

ROOT = Path(__file__).resolve().parents[1]
# The files and folders from which the wheel of this package is built.
SOURCES = ("CMakeLists.txt", "LICENSE", "README.md", "pyproject.toml", "cmake", "include",
           "runtime", "src")  # fmt: skip

PIP = ("-m", "pip", "--disable-pip-version-check")
# Build in the current environment: pip's isolated environments are new for each build, which would
# compile all files again.
BUILD_PACKAGE = ("--no-build-isolation", "--no-deps")
# Do not compile dependencies: where NumPy has no wheel, that takes a quarter of an hour.
WHEELS_ONLY = ("--quiet", "--only-binary", ":all:")


def make(stamp: Path, sources: Iterable[Path], action: Callable[[], None]) -> None:
    """Call `action` and touch the stamp file, unless it is newer than all source files."""
    if stamp.exists():
        made = stamp.stat().st_mtime_ns
        if all(source.stat().st_mtime_ns <= made for source in sources):
            return
        stamp.unlink()
    stamp.parent.mkdir(parents=True, exist_ok=True)
    action()
    stamp.touch()


def source_files() -> list[Path]:
    """Return the files from which the wheel is built."""
    return [
        path
        for name in SOURCES
        for path in ([ROOT / name] if (ROOT / name).is_file() else (ROOT / name).rglob("*"))
        if path.is_file() and path.suffix != ".pyc"
    ]


def new_folder(folder: Path) -> Path:
    """Return an empty folder; remove what is in it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def build_folder(folder: Path) -> tuple[str, ...]:
    """Return the options with which pip builds this package in an environment's folder."""
    return (f"--config-settings=build-dir={folder / 'package'}",)


def junit_option(arguments: argparse.Namespace, name: str) -> tuple[str, ...]:
    """Return the option with which pytest writes its results to the build folder."""
    return ("--junit-xml", str(arguments.build / f"results-{name}.xml"))


def run(*command: str | Path, reports: Path | None = None, **variables: str) -> None:
    """Run a command; end the script if it fails or if a sanitizer writes a file to `reports`."""
    shown = [*(f"{name}={value}" for name, value in variables.items()), *map(str, command)]
    print(shlex.join(shown), flush=True)
    environment = {**os.environ, **_tools_of(Path(command[0])), **variables}
    try:
        status = subprocess.run([*map(str, command)], env=environment, check=False).returncode
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")
    for report in sorted(reports.iterdir()) if reports else ():
        print(report.read_text(encoding="utf-8", errors="replace"))
        status = status or 1
    if status != 0:
        sys.exit(status)


def _tools_of(program: Path) -> Mapping[str, str]:
    """Return the variable PATH for an environment's interpreter: its folder precedes others."""
    if program.name != "python" or not program.is_absolute():
        return {}
    return {"PATH": os.pathsep.join([str(program.parent), os.environ.get("PATH", os.defpath)])}
