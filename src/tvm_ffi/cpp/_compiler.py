# SPDX-License-Identifier: Apache-2.0
"""Compilers: their commands and versions, which are part of every cache key.

Asking a compiler for its version starts a process, so the version is cached in a file, under the
identity of the compiler's file.  A script or a launcher such as ccache may start another compiler
although its own file is unchanged.  Its version is therefore not cached in a file, but queried once
per process.
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
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from .._internal.regular_file import read_regular
from ._files import content_digest, file_identity, write_atomically
from ._gpu import Toolkit, find_toolkit

__all__ = ["Toolchain", "compiler_command", "describe_compiler", "find_toolchain"]

# Characters that separate or quote words; a command without these characters is a single word.
_SHELL_CHARACTERS = re.compile(r"[^\w@%+=:,./-]", re.ASCII)
_MAX_FILE_BYTES = 1 << 20  # maximum size of a cached file that contains the version of a compiler
_FORMAT = 2  # version of the text of a compiler's version
# Lines of a version that say nothing about the compiler, or contain its path.
_UNWANTED = ("opyright", "InstalledDir")
_LAUNCHERS = {"ccache", "sccache", "distcc", "icecc", "buildcache"}


class Toolchain(NamedTuple):
    """The compilers and the GPU toolkit of one build."""

    commands: Mapping[str, tuple[str, ...]]
    """Command words of the compiler, by language: ``c``, ``cpp``, ``cuda``."""
    versions: Mapping[str, str]
    """Version of the compiler, by language, for each compiler that exists."""
    problem: str
    """Why this machine cannot compile: the message for a missing compiler, else empty."""
    gpu: Toolkit | None
    """The CUDA or HIP toolkit; None if the build compiles no device code."""


def find_toolchain(
    languages: Collection[str], backend: str | None, versions_folder: Path
) -> Toolchain:
    """Return the compilers for the languages of a build.

    Parameters
    ----------
    languages : collection of str
        Languages of the sources: ``c``, ``cpp``, ``cuda`` and ``object`` (object files).
    backend : str, optional
        ``cuda`` or ``hip``; None selects the default of `find_toolkit`.
    versions_folder : path
        Folder of the files with cached compiler versions.
    """
    problem = ""
    toolkit = None
    if "cuda" in languages:
        toolkit = find_toolkit(backend, is_required=False)
        problem = toolkit.problem
    commands = {}
    if "c" in languages:
        commands["c"] = compiler_command("CC", "cc")
    # Link with the C++ compiler, because objects may need the C++ library.
    if {*languages} != {"c"}:
        commands["cpp"] = compiler_command("CXX", "c++")
    if toolkit is not None:
        commands["cuda"] = toolkit.compiler
    versions = {}
    for language, command in commands.items():
        try:
            versions[language] = describe_compiler(command, versions_folder)
        except RuntimeError as error:
            problem = problem or str(error)
    return Toolchain(commands, versions, problem, toolkit)


def compiler_command(variable: str, default: str) -> tuple[str, ...]:
    """Return the words of a compiler command, from an environment variable or the default.

    Raises
    ------
    ValueError
        If the value of the environment variable cannot be split into words.
    """
    value = os.environ.get(variable, "").strip() or default
    if not _SHELL_CHARACTERS.search(value) or shutil.which(value):
        return (value,)  # the variable may contain one path with spaces
    try:
        return tuple(shlex.split(value))
    except ValueError as error:
        raise ValueError(f"${variable} must be a shell command, got {value!r}: {error}") from None


def describe_compiler(command: tuple[str, ...], folder: Path) -> str:
    """Return the version that a compiler reports, and the digest of its file.

    Parameters
    ----------
    command : tuple of str
        Command words of the compiler.
    folder : path
        Folder of the files with cached compiler versions.

    Raises
    ------
    RuntimeError
        If the compiler does not exist or cannot be started.
    """
    programs = [shutil.which(word) for word in command]
    if programs[0] is None:
        raise RuntimeError(
            f"compiler {command[0]} is not found; install it, or set $CC or $CXX to another one"
        )
    files = [Path(program).resolve() for program in programs if program is not None]
    identity = "\n".join(f"{path} {file_identity(path)}" for path in files)
    contents = tuple(str(path) for path in files)
    if any(_is_launcher(path) for path in files):
        return _query_version(command, identity, contents)
    return _cached_version(command, contents, identity, folder)


def _is_launcher(path: Path) -> bool:
    """Return True for a script or a launcher such as ccache, which may start another program."""
    if path.name in _LAUNCHERS:
        return True
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def _cached_version(
    command: tuple[str, ...], files: tuple[str, ...], identity: str, folder: Path
) -> str:
    """Return a compiler's version from the cache; if missing, ask the compiler and cache it."""
    digest = hashlib.sha256(repr((_FORMAT, command, identity)).encode()).hexdigest()
    cache_file = folder / f"{digest[:32]}.json"
    try:
        cached = json.loads(read_regular(cache_file, _MAX_FILE_BYTES))
        if cached["identity"] == identity:
            return str(cached["version"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    version = _query_version(command, identity, files)
    text = json.dumps({"command": command, "identity": identity, "version": version}, indent=1)
    # Ignore errors, because the cache may be read-only.
    with contextlib.suppress(OSError):
        write_atomically(cache_file, text)
    return version


@functools.cache
def _query_version(command: tuple[str, ...], identity: str, files: tuple[str, ...]) -> str:
    """Return the output of the compiler's ``--version``, and digests of its programs.

    `identity` is only a key of `functools.cache`, so that a replaced compiler is queried again.
    """
    import subprocess

    try:
        done = subprocess.run(
            [*command, "--version"],
            stdin=subprocess.DEVNULL,
            env={**os.environ, "LC_ALL": "C"},  # the version text is then the same in every locale
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise RuntimeError(
            f"compiler {shlex.join(command)} could not be started: {error}"
        ) from error
    lines = [line.strip() for line in (done.stdout or done.stderr).splitlines()]
    wanted = [line for line in lines if line and not any(word in line for word in _UNWANTED)]
    contents = ", ".join(content_digest(path)[:23] for path in files)
    return f"{'; '.join(wanted[:4])} ({contents})"
