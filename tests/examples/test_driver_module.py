# SPDX-License-Identifier: Apache-2.0
"""The PTX example: its output with and without a CUDA device.

tests/python/test_cuda.py tests the calls of the driver with a fake driver.
"""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest

NAME = "driver_module"
COMPUTED = "PyTorch  scale([1.0, 2.0, 3.0, 4.0]..., 2.5) wrote [2.5, 5.0, 7.5, 10.0]...: correct\n"


def pytorch_line() -> str:
    if importlib.util.find_spec("torch") is None:
        return "PyTorch  not installed, skipped\n"
    import torch

    return COMPUTED if torch.cuda.is_available() else "PyTorch  no CUDA device, skipped\n"


def test_commands_of_the_readme(example, run, readme_blocks):
    (block,) = readme_blocks(NAME, "sh")
    (shown,) = readme_blocks(NAME, "")
    assert COMPUTED in shown
    assert run("sh", "-euc", block, cwd=example(NAME)) == shown.replace(COMPUTED, pytorch_line())


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="no ptxas")
def test_ptxas_accepts_the_code(run, tmp_path):
    source = Path(__file__).parents[2] / "examples" / NAME / "scale.ptx"
    run("ptxas", source, "-o", "scale.cubin", cwd=tmp_path)
