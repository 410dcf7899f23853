# SPDX-License-Identifier: Apache-2.0
"""Launch a PTX kernel of the Mojo compiler without host code:  ``python run_device.py PTX``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np

import tvm_ffi
from tvm_ffi import codegen


def load(path: Path) -> tvm_ffi.Module:
    """Return a module whose function ``scale`` launches the only kernel in a PTX file."""
    text = path.read_text(encoding="utf-8")
    (symbol,) = re.findall(r"\.visible \.entry (\w+)\(", text)
    plan = codegen.make_launch_plan(
        "scale(x: float32[n], y: out float32[n], factor: float = 2.0)",
        text,
        symbol,
        arguments=["x", "y", "n", "float32 factor"],
        grid="cdiv(n, 256)",
        block=256,
    )
    return codegen.launch_module(plan)


def run_torch(module: tvm_ffi.Module) -> None:
    """Launch the kernel with PyTorch tensors, if PyTorch and a CUDA device are available."""
    try:
        import torch
    except ImportError:
        print("PyTorch  not installed, skipped")
        return
    if not torch.cuda.is_available():
        print("PyTorch  no CUDA device, skipped")
        return
    x = torch.arange(1000, dtype=torch.float32, device="cuda")
    y = torch.empty_like(x)
    module.scale(x, y, factor=2.5)
    torch.testing.assert_close(y, 2.5 * x)
    print("PyTorch  scale wrote 2.5 * x: correct")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: {sys.argv[0]} PTX")
    kernels = load(Path(sys.argv[1]))
    print(kernels.get_function_signature("scale"))
    run_torch(kernels)
    try:
        kernels.scale(np.ones(3, np.float32), np.ones(3, np.float32))
    except ValueError as error:
        print(f"{type(error).__name__} {error}")
