# SPDX-License-Identifier: Apache-2.0
"""Fixtures that copy examples, read code blocks of their READMEs and run the commands."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CC = shlex.split(os.environ.get("CC") or "cc")
# The search path: programs of the Python environment come first, even if it is not activated.
SEARCH = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])


@pytest.fixture(scope="session")
def environment(tmp_path_factory, build_once) -> dict[str, str]:
    """Return variables in which `cc` is the configured compiler and `python` this interpreter."""
    folder = tmp_path_factory.mktemp("bin")
    for name, command in {"cc": CC, "python": [sys.executable]}.items():
        program = shutil.which(command[0]) or command[0]
        script = folder / name
        line = shlex.join([program, *command[1:]])
        script.write_text(f'#!/bin/sh\nexec {line} "$@"\n', encoding="utf-8")
        script.chmod(0o755)
    search = os.pathsep.join([str(folder), SEARCH])
    cache = str(build_once("cache", lambda folder: None))  # a build cache other than the user's
    return {**os.environ, "PATH": search, "LC_ALL": "C", "TVM_FFI_CACHE_DIR": cache}


@pytest.fixture
def run(environment):
    """Return a function that runs a command, checks its exit status and returns its output."""

    def run(
        *command: str | Path, cwd: Path, status: int = 0, timeout_s: float = 60, **variables: str
    ) -> str:
        done = subprocess.run(
            [str(part) for part in command],
            cwd=cwd,
            env={**environment, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        assert done.returncode == status, f"{command} gave {done.returncode}:\n{done.stdout}"
        return done.stdout

    return run


@pytest.fixture
def example(tmp_path):
    """Return a function that copies an example without its build folder."""

    def copy(name: str) -> Path:
        target = tmp_path / "a copy" / name  # a space: unquoted paths fail
        shutil.copytree(EXAMPLES / name, target, ignore=shutil.ignore_patterns("build"))
        return target

    return copy


@pytest.fixture
def readme_blocks():
    """Return a function that returns the code blocks of one language in an example's README."""

    def blocks(name: str, language: str) -> list[str]:
        text = (EXAMPLES / name / "README.md").read_text(encoding="utf-8")
        found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        return [content for kind, content in found if kind == language]

    return blocks
