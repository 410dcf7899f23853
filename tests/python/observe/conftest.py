# SPDX-License-Identifier: Apache-2.0
"""The library of kernels that each break one rule."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tvm_ffi import libinfo

FOLDER = Path(__file__).resolve().parent / "faults"
KERNELS = Path(__file__).resolve().parents[1] / "kernels"


def compile_faults(folder: Path) -> None:
    include = [f"-I{path}" for path in [*libinfo.include_paths(), KERNELS]]
    commands = [
        [*shlex.split(os.environ.get("CC", "cc")), "-std=gnu11", str(FOLDER / "faults.c")],
        [*shlex.split(os.environ.get("CXX", "c++")), "-std=c++17", str(FOLDER / "faults.cc")],
    ]
    objects = []
    for command in commands:
        objects.append(str(folder / f"{Path(command[-1]).name}.o"))
        subprocess.run([*command, "-O1", "-fPIC", *include, "-c", "-o", objects[-1]], check=True)
    linker = shlex.split(os.environ.get("CXX", "c++"))
    subprocess.run([*linker, "-shared", *objects, "-o", str(folder / "faults.so")], check=True)


@pytest.fixture(scope="session")
def fault_library(build_once) -> Path:
    return build_once("debug_faults", compile_faults) / "faults.so"
