# SPDX-License-Identifier: Apache-2.0
"""Fixtures for build tests: an empty cache per test, and fake compilers that log their commands."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from pathlib import Path

import pytest

VARIABLES = (
    *("CC", "CXX", "MAX_JOBS", "CPATH", "LIBRARY_PATH"),
    *("CUDA_HOME", "CUDA_PATH", "ROCM_HOME", "ROCM_PATH", "TVM_FFI_GPU_BACKEND"),
    *("TVM_FFI_CUDA_ARCH_LIST", "TVM_FFI_ROCM_ARCH_LIST", "TVM_FFI_CPP_EXTENSION_LOG_BUILD"),
    *("TVM_FFI_CPP_EXTENSION_PRECOMPILE", "TVM_FFI_CACHE_PATH", "TVM_FFI_BUILDS"),
)

# A compiler program that reports a version, logs its arguments as JSON, and creates the file after
# -o.
FAKE_COMPILER = """\
#!{python} -IS
import json, sys
arguments = sys.argv[1:]
if "--version" in arguments:
    print("fake 1.0")
    sys.exit()
with open({log!r}, "a") as log:
    log.write(json.dumps([{name!r}, *arguments]) + "\\n")
open(arguments[arguments.index("-o") + 1], "w").close()
if "-MF" in arguments:
    with open(arguments[arguments.index("-MF") + 1], "w") as depfile:
        depfile.write("x.o: main.c\\n")
"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    """Return the folder of an empty cache whose name contains a space, "$" and "ä"."""
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    folder = tmp_path / "a cäche $HOME"
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(folder))
    return folder


class FakeCompilers:
    """Fake compilers in one folder, and the commands that tests ran with these compilers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"

    def add(self, name: str) -> Path:
        """Create a fake compiler in the folder; return its path."""
        program = self.folder / "bin" / name
        program.parent.mkdir(parents=True, exist_ok=True)
        text = FAKE_COMPILER.format(python=sys.executable, log=str(self.log), name=name)
        program.write_text(text, encoding="utf-8")
        program.chmod(0o755)
        return program

    def commands(self) -> list[list[str]]:
        """Return the commands that were run so far, except queries of the version."""
        if not self.log.exists():
            return []
        return [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def fake_compilers(tmp_path) -> FakeCompilers:
    return FakeCompilers(tmp_path / "toolkit")


@pytest.fixture
def wrapped_cc(tmp_path, monkeypatch):
    """Return a function that makes $CC a script: it runs shell commands, then the C compiler.

    The function takes the shell commands and returns the path of a log, to which each run of the
    compiler or linker appends its arguments as a line.
    """
    compiler = shutil.which(shlex.split(os.environ.get("CC") or "cc")[0])
    if compiler is None:
        pytest.skip("no C compiler is installed")
    log = tmp_path / "compilations"
    script = tmp_path / "wrapped-cc"

    def wrap(before: str = "") -> Path:
        script.write_text(
            "#!/bin/sh\n"
            f'case "$*" in *--version*) exec {shlex.quote(compiler)} "$@";; esac\n'
            f'echo "$*" >> {shlex.quote(str(log))}\n{before}\n'
            f'exec {shlex.quote(compiler)} "$@"\n',
            encoding="utf-8",
        )
        script.chmod(0o755)
        monkeypatch.setenv("CC", str(script))
        return log

    return wrap
