# SPDX-License-Identifier: Apache-2.0
"""Compilers for tests that only compile: GCC and Clang, in every supported language standard."""

from __future__ import annotations

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

INCLUDE = Path(__file__).resolve().parents[2] / "include"
# Replaces a CUDA toolkit, which may be missing on the machine.
FAKE_CUDA = Path(__file__).resolve().parent / "fake_cuda"
STANDARDS = {"g++": ("c++17", "c++20"), "clang++": ("c++17", "c++20")}
BASELINE = {"g++": ("c++17",), "clang++": ("c++17",)}
# Configurations that the build of the test programs does not cover; that build uses C++17, usually
# with GCC.
OTHER = {"g++": ("c++20",), "clang++": ("c++17",)}
C_STANDARDS = {"gcc": ("c11",), "clang": ("c11",)}


@dataclass(frozen=True)
class Diagnosis:
    """Result of a compilation: success, and the messages, which are empty without warnings."""

    accepted: bool
    text: str


@dataclass(frozen=True)
class Compiler:
    """A compiler with a language standard, for checks that write no output files."""

    program: str
    standard: str

    @property
    def flags(self) -> list[str]:
        """Return the options of all runs of the compiler."""
        return [f"-std={self.standard}", f"-I{INCLUDE}", "-isystem", str(FAKE_CUDA)]

    def run(self, *arguments: str, source: str | None = None) -> Diagnosis:
        """Run the compiler with shared options and `arguments`; `source` is its standard input."""
        done = subprocess.run(
            [self.program, *self.flags, *arguments],
            check=False,
            input=source,
            capture_output=True,
            text=True,
            env={**os.environ, "LC_ALL": "C"},  # the tests match English messages
        )
        return Diagnosis(done.returncode == 0, done.stdout + done.stderr)

    def diagnose(self, source: str, *options: str) -> Diagnosis:
        """Check a source text for errors and warnings."""
        language = "c" if self.standard.startswith("c1") else "c++"
        return self.run(*options, "-fsyntax-only", "-x", language, "-", source=source)

    def diagnose_all(self, sources: dict[str, str], *options: str) -> dict[str, Diagnosis]:
        """Check several source texts in parallel, one per processor."""
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            done = pool.map(lambda source: self.diagnose(source, *options), sources.values())
            return dict(zip(sources, done))


def _parameters(standards):
    return [
        pytest.param(Compiler(program, standard), id=f"{program}-{standard}")
        for program, levels in standards.items()
        for standard in levels
    ]


def _available(compiler: Compiler) -> Compiler:
    if shutil.which(compiler.program) is None:
        pytest.skip(f"no compiler {compiler.program}")
    return compiler


@pytest.fixture(scope="session", params=_parameters(STANDARDS))
def compiler(request) -> Compiler:
    """Return a C++ compiler."""
    return _available(request.param)


@pytest.fixture(scope="session", params=_parameters(BASELINE))
def baseline_compiler(request) -> Compiler:
    """Return a C++ compiler with the language standard for which the headers are written."""
    return _available(request.param)


@pytest.fixture(scope="session", params=_parameters(OTHER))
def other_compiler(request) -> Compiler:
    """Return a C++ compiler with a language standard that the test programs do not use."""
    return _available(request.param)


@pytest.fixture(scope="session", params=_parameters(C_STANDARDS))
def c_compiler(request) -> Compiler:
    """Return a C compiler."""
    return _available(request.param)
