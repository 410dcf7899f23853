# SPDX-License-Identifier: Apache-2.0
"""Call the compiled kernel from Python:  ``python run.py LIBRARY``.

Without PyTorch or without a CUDA device, only the checks of the arguments are shown.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import tvm_ffi


def find_torch() -> Any:
    """Return PyTorch when it can use a CUDA device, and say so when it cannot."""
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
    """Call ``add_one`` on PyTorch's current stream; it is passed without being mentioned."""
    x = torch.arange(1.0, 5.0, device="cuda")
    y = torch.zeros_like(x)
    module.add_one(x, y)
    torch.testing.assert_close(y, x + 1)
    print(f"PyTorch  add_one({x.tolist()}) wrote {y.tolist()}: correct")


def run_other_stream(module: tvm_ffi.Module, torch: Any) -> None:
    """Fill, add and read on a stream of our own: in order there, whatever others do."""
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
    """Show that memory of the CPU is refused."""
    try:
        module.add_one(np.zeros(4, np.float32), np.zeros(4, np.float32))
    except ValueError as error:
        print(f"NumPy    raised ValueError: {error}")
    else:
        raise SystemExit("add_one took arrays on the CPU; it must raise ValueError")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: {sys.argv[0]} LIBRARY")
    library = tvm_ffi.load_module(sys.argv[1])
    framework = find_torch()
    if framework is not None:
        run_default_stream(library, framework)
        run_other_stream(library, framework)
    run_wrong_device(library)
