# SPDX-License-Identifier: Apache-2.0
"""Which compiler it is: a part of the key of everything that it makes.

Asking a compiler for its version starts a process, so the answer is kept in the cache, under the
identity of the program's file.  A script or a launcher such as ccache may start another compiler
tomorrow while its own file stays the same: those are asked once in every process.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import re
import shlex
import shutil
from pathlib import Path

from .._internal.regular_file import read_regular
from ._files import content_of, identity_of, write_atomically

__all__ = ["compiler_command", "describe_compiler"]

# What a shell would not take as it is.
_SEVERAL_WORDS = re.compile(r"[^\w@%+=:,./-]", re.ASCII)
_MOST_BYTES = 1 << 20  # of an answer
_LAUNCHERS = {"ccache", "sccache", "distcc", "icecc", "buildcache"}


def compiler_command(variable: str, default: str) -> tuple[str, ...]:
    """Return the words of a compiler's command: those of an environment variable or the default.

    Raises
    ------
    ValueError
        If the variable's text cannot be divided into words.
    """
    value = os.environ.get(variable, "").strip() or default
    if not _SEVERAL_WORDS.search(value) or shutil.which(value):
        return (value,)  # a path with spaces that exists is one word
    try:
        return tuple(shlex.split(value))
    except ValueError as error:
        raise ValueError(
            f"${variable} must be a command as for a shell, got {value!r}: {error}"
        ) from None


def describe_compiler(command: tuple[str, ...], folder: Path) -> str:
    """Return the path of a compiler and what it says about its version.

    Parameters
    ----------
    command : tuple of str
        The words of its command.
    folder : path
        Where answers are kept.

    Raises
    ------
    RuntimeError
        If there is no such program.
    """
    programs = [shutil.which(word) for word in command]
    if programs[0] is None:
        raise RuntimeError(
            f"{command[0]} is not found; install a compiler, or name one in $CC, $CXX"
        )
    real = [Path(program).resolve() for program in programs if program is not None]
    identity = "\n".join(f"{path} {identity_of(path)}" for path in real)
    if any(_may_start_another(path) for path in real):
        return _ask(command, identity)
    return _remembered(command, real, identity, folder)


def _may_start_another(path: Path) -> bool:
    if path.name in _LAUNCHERS:
        return True
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def _remembered(command: tuple[str, ...], real: list[Path], identity: str, folder: Path) -> str:
    """Return the kept answer for these files; ask if there is none."""
    digest = hashlib.sha256(repr((command, identity)).encode()).hexdigest()
    file = folder / f"{digest[:32]}.json"
    try:
        kept = json.loads(read_regular(file, _MOST_BYTES))
        if kept["identity"] == identity:
            return str(kept["version"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    contents = ", ".join(content_of(path)[:23] for path in real)
    version = f"{_ask(command, identity)} ({contents})"
    text = json.dumps({"command": command, "identity": identity, "version": version}, indent=1)
    with contextlib.suppress(OSError):  # a cache that cannot be written can be read
        write_atomically(file, text)
    return version


@functools.cache
def _ask(command: tuple[str, ...], identity: str) -> str:
    """Return what a compiler says; the identity only makes sure that a new one is asked again."""
    import subprocess

    try:
        done = subprocess.run(
            [*command, "--version"],
            stdin=subprocess.DEVNULL,
            env={**os.environ, "LC_ALL": "C"},  # the same words for everybody
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise RuntimeError(f"{shlex.join(command)} cannot be started: {error}") from error
    lines = [line.strip() for line in (done.stdout or done.stderr).splitlines()]
    said = [line for line in lines if line and "opyright" not in line]
    return f"{shutil.which(command[0])}: {'; '.join(said[:4])}"
