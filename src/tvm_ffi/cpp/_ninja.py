# SPDX-License-Identifier: Apache-2.0
"""Builds with several commands: the file for ninja, and running ninja."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from ._command import WRITING_OF_OTHERS, failure, log, run_command
from ._plan import Step

__all__ = ["find_ninja", "ninja_text", "run_ninja"]


def ninja_text(steps: Sequence[Step], product: str) -> str:
    """Return the text of the file that makes ninja run some commands."""
    lines = ["ninja_required_version = 1.5", ""]
    for number, step in enumerate(steps):
        lines += [f"rule step_{number}", f"  command = {_escaped(shlex.join(step.command))}"]
        if step.depfile:
            lines.append(f"  depfile = {_escaped(step.depfile)}")  # read by the cache, too
        inputs = " ".join(map(_escaped_path, step.inputs))
        lines += [f"build {_escaped_path(step.output)}: step_{number} {inputs}", ""]
    lines += [f"default {_escaped_path(product)}", ""]
    return "\n".join(lines)


def _escaped(text: str) -> str:
    """Return a text as ninja writes it in the value of a variable."""
    if "\n" in text:
        raise ValueError(f"a command for ninja cannot contain line breaks: {text!r}")
    return text.replace("$", "$$")


def _escaped_path(path: str) -> str:
    if "|" in path:
        raise ValueError(f"ninja has no way to write a path that contains '|': {path!r}")
    return _escaped(path).replace(" ", "$ ").replace(":", "$:")


def find_ninja() -> str | None:
    """Return the path of ninja: of the Python package, of this environment, or the system's."""
    try:
        import ninja
    except ImportError:
        pass
    else:
        program = Path(ninja.BIN_DIR, "ninja")
        if program.is_file():
            return str(program)
    beside = Path(sys.executable).parent  # an environment that is not activated
    return shutil.which("ninja") or shutil.which("ninja", path=str(beside))


def run_ninja(
    folder: Path, only_program: str | None = None, denied: int = WRITING_OF_OTHERS
) -> None:
    """Build what the file in a folder says, with as many jobs as ``MAX_JOBS`` allows.

    A failure is that of `only_program`, where the caller knows that no other one compiles.  What
    the commands make lacks the rights `denied`.

    Raises
    ------
    RuntimeError
        If ninja is not there or a command fails.
    ValueError
        If ``MAX_JOBS`` is no number.
    """
    ninja = find_ninja()
    if ninja is None:
        raise RuntimeError('ninja is not found; pip install "pytvmffi[cpp]" brings it')
    command = [ninja, "-v"]
    jobs = os.environ.get("MAX_JOBS", "").strip()
    if jobs and not (jobs.isascii() and jobs.isdecimal()):
        raise ValueError(f"$MAX_JOBS must be a number of compilers, got {jobs!r}")
    if jobs:
        command += ["-j", jobs]
    done = run_command(command, folder, denied)
    log("%s", done.stdout.rstrip())
    if done.returncode == 0:
        return
    if only_program is None:
        raise failure("ninja", done.returncode, done.stdout, done.stderr)
    lines = [line for line in done.stdout.splitlines() if not line.startswith("ninja: ")]
    raise failure(only_program, done.returncode, "\n".join(lines), done.stderr)
