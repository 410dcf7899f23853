# SPDX-License-Identifier: Apache-2.0
"""Compiled kernels and fresh processes, in which the reference is the only runtime."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import pytest
import tvm_ffi_conformance

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SOURCE = Path(tvm_ffi_conformance.__file__).parents[1]
COMPILERS = {".c": ("CC", "cc", "-std=c11"), ".cc": ("CXX", "c++", "-std=c++17")}
PRELUDE = """\
import json, os, sys, traceback
from tvm_ffi_conformance.reference import *
KERNELS = sys.argv[1]
reference = Reference()
def kernels(name):
    return reference.load(f"{KERNELS}/{name}.so")
def error_of(function, *arguments):
    try:
        return function(*arguments)
    except Raised as error:
        return str(error)
def run(program):
    names = dict(globals())
    exec(program, names)
    broken = [[v.rule.id, v.function, v.argument, v.detail] for v in reference.end_scope()]
    reference.violations.clear()
    return {"value": names["value"], "violations": broken}
results = []
for program in json.load(sys.stdin):
    try:
        results.append(run(program))
    except Exception:
        results.append({"exception": traceback.format_exc()})
print(json.dumps(results), flush=True)
os._exit(0)
"""


def compile_kernel(source: Path, library: Path) -> None:
    """Compile a kernel into a shared library that leaves the C functions to its process."""
    variable, default, standard = COMPILERS[source.suffix]
    command = shlex.split(os.environ.get(variable) or default)
    if shutil.which(command[0]) is None:
        pytest.skip(f"no compiler: {command[0]!r} not found")
    flags = ["-D_GNU_SOURCE", "-O1", "-fPIC", "-shared", "-pthread", f"-I{ROOT / 'include'}"]
    subprocess.run(
        [*command, standard, *flags, "-o", str(library), str(source)], check=True, timeout=120
    )


@pytest.fixture(scope="session")
def kernel_folder(build_once) -> Path:
    """Return a folder with all kernels of this folder, compiled: ``broken.so`` and so on."""

    def fill(folder: Path) -> None:
        for source in sorted((HERE / "kernels").iterdir()):
            if source.suffix in COMPILERS:
                name = source.stem + ("_cpp" if source.suffix == ".cc" else "")
                compile_kernel(source, folder / f"{name}.so")

    return build_once("conformance-kernels", fill)


@pytest.fixture(scope="session")
def start(kernel_folder: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs Python with the package on the path and nothing else of ours."""

    def start(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
        return subprocess.run(
            [sys.executable, *arguments],
            input=text,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env=environment,
            cwd=kernel_folder,
        )

    return start


@pytest.fixture(scope="session")
def run_programs(start, kernel_folder: Path) -> Callable[[list[str]], list[Any]]:
    """Return a function that runs program texts in one process, each in a scope of its own.

    A result has the ``value`` that the program assigned and the ``violations`` of its scope; it is
    the text of the exception if the program raised one.
    """

    def run_programs(programs: list[str]) -> list[Any]:
        result = start("-c", PRELUDE, str(kernel_folder), text=json.dumps(programs))
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout.splitlines()[-1])

    return run_programs
