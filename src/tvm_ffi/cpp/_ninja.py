# SPDX-License-Identifier: Apache-2.0
"""Ninja: generation of ninja files, and running ninja to build several sources in parallel."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Callable

from ..builds import announce, is_observed
from ._command import READABLE_UMASK, command_error, log, run_command
from ._files import content_digest
from ._recipe import Step

__all__ = [
    "NINJA_FILE",
    "announce_ninja",
    "find_ninja",
    "ninja_text",
    "output_of_commands",
    "run_ninja",
]

NINJA_FILE = "build.ninja"


def ninja_text(steps: Sequence[Step]) -> str:
    """Return the content of a ninja file whose default target is the output of the last step."""
    lines = ["ninja_required_version = 1.5", ""]
    for number, step in enumerate(steps):
        lines += [f"rule step_{number}", f"  command = {_escaped(shlex.join(step.command))}"]
        if step.depfile:
            # Without "deps = gcc", ninja keeps the depfile, which the build cache also reads.
            lines.append(f"  depfile = {_escaped(step.depfile)}")
        inputs = " ".join(map(_escaped_path, step.inputs))
        lines += [f"build {_escaped_path(step.output)}: step_{number} {inputs}", ""]
    lines += [f"default {_escaped_path(steps[-1].output)}", ""]
    return "\n".join(lines)


def output_of_commands(output: str, steps: Sequence[Step]) -> str:
    """Return the output of the commands of a build, without ninja's lines about the commands."""
    commands = tuple(shlex.join(step.command) for step in steps)
    lines = output.splitlines(keepends=True)
    return "".join(
        line
        for line in lines
        if not line.startswith("ninja: ") and not line.rstrip("\n").endswith(commands)
    )


def _escaped(text: str) -> str:
    """Return text escaped as the value of a ninja variable."""
    if "\n" in text:
        raise ValueError(f"a command in a ninja file cannot contain line breaks, got {text!r}")
    return text.replace("$", "$$")


def _escaped_path(path: str) -> str:
    if "|" in path:
        raise ValueError(f"a path in a ninja file cannot contain '|', got {path!r}")
    return _escaped(path).replace(" ", "$ ").replace(":", "$:")


def find_ninja() -> str | None:
    """Return the path of ninja: from the package `ninja`, PATH, or the folder of this Python."""
    try:
        import ninja
    except ImportError:
        pass
    else:
        program = Path(ninja.BIN_DIR, "ninja")
        if program.is_file():
            return str(program)
    # This folder is in PATH only if the Python environment is activated.
    beside = Path(sys.executable).parent
    return shutil.which("ninja") or shutil.which("ninja", path=str(beside))


def announce_ninja(
    name: str, folder: Path, changed: Sequence[str], key: Callable[[], str] | None = None
) -> None:
    """Announce a build with ninja, unless ninja has nothing to do in the folder.

    Parameters
    ----------
    name : str
        Name of the library.
    folder : path
        Folder that contains the ninja file.
    changed : sequence of str
        Reasons that make the build necessary, whatever ninja says.
    key : callable, optional
        Returns the key of the build; default: a hash of the ninja file.
    """
    if not is_observed():
        return
    reasons = [*changed]
    if not reasons and (ninja := find_ninja()) is not None:
        # Without "explain", the option -n prints the commands only.
        done = run_command([ninja, "-n", "-d", "explain"], folder, READABLE_UMASK)
        if done.returncode == 0 and "no work to do" in done.stdout:
            return
        lines = (done.stderr + done.stdout).splitlines()
        mark = "ninja explain: "
        reasons = [line[len(mark) :] for line in lines if line.startswith(mark)][:8]
    digest = key() if key is not None else content_digest(folder / NINJA_FILE).partition(":")[2]
    announce("library", name, key=digest, reasons=reasons)


def run_ninja(folder: Path, only_program: str | None = None, umask: int = READABLE_UMASK) -> str:
    """Run ninja in a folder that contains a ninja file; ``MAX_JOBS`` limits the parallel jobs.

    Returns the output of ninja, which contains the commands and their output.

    Parameters
    ----------
    folder : path
        Folder that contains the ninja file.
    only_program : str, optional
        Name of the compiler, if ninja runs only one; the error then names it instead of ninja.
    umask : int
        Mode bits that new files must not have, in addition to the umask of this process.

    Raises
    ------
    RuntimeError
        If ninja is not installed or a command fails.
    ValueError
        If ``MAX_JOBS`` is not a decimal number.
    """
    ninja = find_ninja()
    if ninja is None:
        raise RuntimeError('ninja is not found; install it with `pip install "pytvmffi[cpp]"`')
    command = [ninja, "-v"]
    jobs = os.environ.get("MAX_JOBS", "").strip()
    if jobs and not (jobs.isascii() and jobs.isdecimal()):
        raise ValueError(f"$MAX_JOBS must be a number of parallel jobs, got {jobs!r}")
    if jobs:
        command += ["-j", jobs]
    done = run_command(command, folder, umask)
    log("%s", done.stdout.rstrip())
    if done.returncode == 0:
        return done.stdout
    if only_program is None:
        raise command_error("ninja", done.returncode, done.stdout, done.stderr)
    lines = [line for line in done.stdout.splitlines() if not line.startswith("ninja: ")]
    raise command_error(only_program, done.returncode, "\n".join(lines), done.stderr)
