# SPDX-License-Identifier: Apache-2.0
"""The CUDA examples: built with nvcc by the commands of their READMEs, and run on a GPU.

cubin_launcher_test.cc tests streams, devices and arguments of the host code without nvcc and a GPU.
"""

from __future__ import annotations

import importlib.util
import shutil
from functools import cache
from pathlib import Path

import pytest

needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc")

REFUSED = (
    "NumPy    raised ValueError: "
    "Check failed: (tensor.device().device_type == kDLCUDA) is false: `x` must be a CUDA tensor\n"
)
ON_A_DEVICE = {
    "cuda_kernel": (
        "PyTorch  add_one([1.0, 2.0, 3.0, 4.0]) wrote [2.0, 3.0, 4.0, 5.0]: correct\n"
        "stream   fill, add_one and sum in order on a second stream: correct\n"
    )
    + REFUSED,
    "cubin_launcher": (
        "PyTorch  scale([1.0, 2.0, 3.0, 4.0], 2.5) wrote [2.5, 5.0, 7.5, 10.0] on each device: "
        "correct\n"
    )
    + REFUSED,
}


@cache
def reason_without_a_device() -> str | None:
    """Return the message that the examples print if no GPU is usable; else None."""
    if importlib.util.find_spec("torch") is None:
        return "PyTorch  not installed, skipped\n"
    import torch

    return None if torch.cuda.is_available() else "PyTorch  no CUDA device, skipped\n"


@pytest.mark.parametrize("name", ON_A_DEVICE)
def test_the_readme_shows_the_output(readme_blocks, name):
    assert readme_blocks(name, "") == [ON_A_DEVICE[name]]


@needs_nvcc
@pytest.mark.parametrize("name", ON_A_DEVICE)
def test_commands_of_the_readme(example, run, readme_blocks, name):
    (block,) = readme_blocks(name, "sh")
    output = run("sh", "-euc", block, cwd=example(name), timeout_s=300)
    reason = reason_without_a_device()
    assert output == (ON_A_DEVICE[name] if reason is None else reason + REFUSED)


def test_the_readme_quotes_the_kernel(readme_blocks):
    (quoted,) = readme_blocks("cuda_kernel", "cpp")
    source = Path(__file__).parents[2] / "examples" / "cuda_kernel" / "add_one.cu"
    lines = [line.strip() for line in source.read_text(encoding="utf-8").splitlines()]
    assert all(line.strip() in lines for line in quoted.splitlines())
