# SPDX-License-Identifier: Apache-2.0
"""Benchmark rows of empty launches: this package, the incumbent if its wheel is given, and C."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

HERE = Path(__file__).resolve().parent
WRITTEN: dict[str, dict[str, float]] = {}


def measure(implementation: str, device: str, folders: list[str]) -> dict[str, dict[str, float]]:
    """Run the program; return the median nanoseconds per launch, by row and column."""
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    if Path("/usr/local/cuda").is_dir():  # the incumbent looks beside nvcc, which may be a script
        variables.setdefault("CUDA_HOME", "/usr/local/cuda")
    done = subprocess.run(
        [sys.executable, str(HERE / "launch_times.py"), implementation, device],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout.splitlines()[-1])["rows"]
    return {
        row: {name: median(times) for name, times in cells.items()} for row, cells in rows.items()
    }


def write(measured: dict[str, dict[str, float]], device: str) -> None:
    for row, cells in measured.items():
        WRITTEN.setdefault(row, {}).update(cells)
    rows = [
        {
            "name": row,
            "label": f"launch of an empty kernel with {row.partition('_')[2]} arguments",
            "unit": "ns",
            "cells": {name: round(value, 1) for name, value in cells.items()},
        }
        for row, cells in WRITTEN.items()
    ]
    path = Path(os.environ["TVM_FFI_DEVICE_RESULTS"], "device-benchmarks.json")
    path.write_text(json.dumps({"device": device, "rows": rows}, indent=1), encoding="utf-8")


def test_times_of_this_package(gpu):
    measured = measure("ours", "fake" if gpu.is_fake else "gpu", list(filter(None, sys.path)))
    assert all(cells["launch plan"] > 0 for cells in measured.values())
    write(measured, gpu.name)


def test_times_of_the_incumbent(torch):
    folder = os.environ.get("TVM_FFI_DEVICE_INCUMBENT")
    if not folder:
        pytest.skip("no wheel of the incumbent: INCUMBENT=WHEEL")
    write(measure("incumbent", "gpu", [folder]), torch.cuda.get_device_name())
