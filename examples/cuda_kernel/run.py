# SPDX-License-Identifier: Apache-2.0
"""Call the compiled function ``add_one`` from Python:  ``python run.py LIBRARY``.

Without PyTorch or a CUDA device, the program only shows the argument checks.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import tvm_ffi


def find_torch() -> Any:
    """Return PyTorch if it can use a CUDA device; else print the reason and return None."""
    try:
        import torch
    except ImportError:
        print("PyTorch  not installed, skipped")
        return None
    if not torch.cuda.is_available():
        print("PyTorch  no CUDA device, skipped")
        return None
    return torch


def run_default_stream(module: tvm_ffi.Module, torch: Any) -> None:
    """Call ``add_one`` with PyTorch tensors; it runs on PyTorch's current stream."""
    x = torch.arange(1.0, 5.0, device="cuda")
    y = torch.zeros_like(x)
    module.add_one(x, y)
    torch.testing.assert_close(y, x + 1)
    print(f"PyTorch  add_one({x.tolist()}) wrote {y.tolist()}: correct")


def run_other_stream(module: tvm_ffi.Module, torch: Any) -> None:
    """Call ``add_one`` on another stream, between a fill and a sum by PyTorch."""
    x = torch.empty(1 << 20, device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        x.fill_(41)
        module.add_one(x, x)
        total = x.sum()
    stream.synchronize()
    assert total.item() == 42 * (1 << 20)
    print("stream   fill, add_one and sum in order on a second stream: correct")


def run_wrong_device(module: tvm_ffi.Module) -> None:
    """Show that ``add_one`` refuses arrays in host memory."""
    try:
        module.add_one(np.zeros(4, np.float32), np.zeros(4, np.float32))
    except ValueError as error:
        print(f"NumPy    raised ValueError: {error}")
    else:
        raise SystemExit("expected add_one to raise ValueError for host arrays")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: {sys.argv[0]} LIBRARY")
    library = tvm_ffi.load_module(sys.argv[1])
    framework = find_torch()
    if framework is not None:
        run_default_stream(library, framework)
        run_other_stream(library, framework)
    run_wrong_device(library)
