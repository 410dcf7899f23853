# SPDX-License-Identifier: Apache-2.0
"""Choice by GPU architecture, on the fake CUDA driver."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    "pair",
    [(80, 86), (89, 90), (100, 103), (120, 121), (75, 87)],
    ids=lambda p: "-".join(map(str, p)),
)
def test_random_calls_on_recorded_architectures(fake_driver, pair):
    program = HERE / "processes" / "dispatch_devices.py"
    paths = [HERE / "support", HERE / "processes", *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {
        **os.environ,
        "LD_LIBRARY_PATH": str(fake_driver),
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
    }
    done = subprocess.run(
        [sys.executable, str(program), *map(str, pair)],
        env=env,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "done"
