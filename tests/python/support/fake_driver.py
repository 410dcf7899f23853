# SPDX-License-Identifier: Apache-2.0
"""Builds the fake CUDA driver, ``tests/cpp/fake_driver``."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "cpp" / "fake_driver" / "fake_driver.c"


def build(folder: Path) -> Path:
    """Compile the fake driver in a folder and return the path of the library."""
    library = folder / "libcuda.so.1"
    flags = ["-shared", "-fPIC", "-pthread", f"-Wl,-soname,{library.name}"]
    compiler = shlex.split(os.environ.get("CC") or "cc")
    subprocess.run([*compiler, *flags, str(SOURCE), "-o", str(library)], check=True)
    return library
