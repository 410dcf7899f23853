# SPDX-License-Identifier: Apache-2.0
"""Native types from C++ source text in a test file."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

import tvm_ffi
from tvm_ffi import libinfo


def load_types(folder: Path, source: str) -> tvm_ffi.Module:
    """Compile and load the source. Its types stay registered until the process ends."""
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    if shutil.which(compiler[0]) is None:
        pytest.skip("no C++ compiler is installed")
    text, library = folder / "types.cc", folder / "types.so"
    text.write_text(source, encoding="utf-8")
    command = [*compiler, "-std=c++17", "-O1", "-fPIC", "-shared"]
    command += [f"-I{path}" for path in libinfo.include_paths()]
    command += [str(text), "-o", str(library)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stderr}"
    return tvm_ffi.load_module(library)
