# SPDX-License-Identifier: Apache-2.0
"""Programs on the fake CUDA driver (the stand-in), which is built before a program starts."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]


def stand_in(*sources: Path) -> dict[str, str]:
    """Build the fake driver with additional sources; return its folder for the loader's path."""
    folder = Path.cwd() / "driver"
    folder.mkdir(exist_ok=True)
    driver = ROOT / "tests" / "cpp" / "fake_driver"
    flags = ["-shared", "-fPIC", "-pthread", "-Wl,-soname,libcuda.so.1", f"-I{driver}"]
    files = [driver / "fake_driver.c", *sources]
    subprocess.run(["cc", *flags, *files, "-o", folder / "libcuda.so.1"], check=True)
    return {"LD_LIBRARY_PATH": str(folder)}


def run_over_stand_in(program: str, *arguments: str, **variables: str) -> None:
    """Run a program of this folder; the loader's path finds the fake driver first."""
    folders = (ROOT / "tests" / "python" / name for name in ("support", "processes"))
    settings = {**stand_in(), "PYTHONPATH": os.pathsep.join(map(str, folders)), **variables}
    done = subprocess.run(
        [sys.executable, HERE / program, *arguments], env={**os.environ, **settings}, check=False
    )
    if done.returncode != 0:
        sys.exit(done.returncode)
