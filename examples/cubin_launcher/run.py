# SPDX-License-Identifier: Apache-2.0
"""Call the compiled function ``scale`` from Python:  ``python run.py LIBRARY``.

Without PyTorch or a CUDA device, the program only shows the argument checks.
"""

from __future__ import annotations

import sys

import numpy as np

import tvm_ffi


def run_torch(module: tvm_ffi.Module) -> None:
    """Call ``scale`` on each CUDA device; all devices use the same device image."""
    try:
        import torch
    except ImportError:
        print("PyTorch  not installed, skipped")
        return
    if not torch.cuda.is_available():
        print("PyTorch  no CUDA device, skipped")
        return
    for index in range(torch.cuda.device_count()):
        x = torch.arange(1.0, 5.0, device=f"cuda:{index}")
        y = torch.zeros_like(x)
        module.scale(x, 2.5, y)
        torch.testing.assert_close(y, 2.5 * x)
    print(f"PyTorch  scale({x.tolist()}, 2.5) wrote {y.tolist()} on each device: correct")


def run_wrong_device(module: tvm_ffi.Module) -> None:
    """Show that ``scale`` refuses arrays in host memory."""
    try:
        module.scale(np.zeros(4, np.float32), 2.5, np.zeros(4, np.float32))
    except ValueError as error:
        print(f"NumPy    raised ValueError: {error}")
    else:
        raise SystemExit("expected scale to raise ValueError for host arrays")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: {sys.argv[0]} LIBRARY")
    library = tvm_ffi.load_module(sys.argv[1])
    run_torch(library)
    run_wrong_device(library)
