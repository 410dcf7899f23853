# SPDX-License-Identifier: Apache-2.0
"""Programs over the stand-in CUDA driver, which has to be there before they start."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]


def run_over_stand_in(program: str, **variables: str) -> None:
    """Run a program of this folder where the dynamic loader finds the stand-in first."""
    driver = Path.cwd() / "driver"
    driver.mkdir(exist_ok=True)
    source = ROOT / "tests" / "cpp" / "fake_driver" / "fake_driver.c"
    flags = ["-shared", "-fPIC", "-pthread", "-Wl,-soname,libcuda.so.1"]
    subprocess.run(["cc", *flags, source, "-o", driver / "libcuda.so.1"], check=True)
    folders = (ROOT / "tests" / "python", ROOT / "tests" / "python" / "processes")
    settings = {
        "LD_LIBRARY_PATH": str(driver),
        "PYTHONPATH": os.pathsep.join(map(str, folders)),
        **variables,
    }
    done = subprocess.run(
        [sys.executable, HERE / program], env={**os.environ, **settings}, check=False
    )
    sys.exit(done.returncode)
