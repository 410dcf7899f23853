# SPDX-License-Identifier: Apache-2.0
"""Call the Rust kernels from Python:  ``python run.py LIBRARY``."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable

import numpy as np

import tvm_ffi


def run_numpy(module: tvm_ffi.Module) -> None:
    """Call ``softmax`` with NumPy arrays as positional and keyword arguments."""
    x = np.log(np.array([[1, 3], [2, 2]], np.float32))
    y = np.empty_like(x)
    module.softmax(x, y)
    np.testing.assert_allclose(y, [[0.25, 0.75], [0.5, 0.5]], rtol=1e-6)
    module.softmax(y=y, x=x, temperature=0.5)
    np.testing.assert_allclose(y, [[0.1, 0.9], [0.5, 0.5]], rtol=1e-6)
    print(f"NumPy    softmax{inspect.signature(module.softmax)}: correct")


def run_torch(module: tvm_ffi.Module) -> None:
    """Call ``softmax`` with PyTorch tensors, if PyTorch is installed."""
    try:
        import torch
    except ImportError:
        print("PyTorch  not installed, skipped")
        return
    x, y = torch.tensor([[0.5, 0.5, 2.0]]), torch.empty(1, 3)
    module.softmax(x=x, y=y)
    torch.testing.assert_close(y, torch.softmax(x, 1))
    print("PyTorch  softmax(x=x, y=y): correct")


def run_failures(module: tvm_ffi.Module) -> None:
    """Show the exceptions for wrong arguments, an ``Err`` and a panic."""
    x = np.zeros((2, 3), np.float32)
    calls: list[Callable[[], object]] = [
        lambda: module.softmax(x, np.zeros((2, 4), np.float32)),
        lambda: module.softmax(x, x),
        lambda: module.softmax(x, x.copy(), temperature=0),
        lambda: module.largest(np.ones(2), count=3),
    ]
    for call in calls:
        try:
            call()
        except (RuntimeError, ValueError) as error:
            print(f"{type(error).__name__:12} {error}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: {sys.argv[0]} LIBRARY")
    library = tvm_ffi.load_module(sys.argv[1])
    run_numpy(library)
    run_torch(library)
    print("result  ", library.largest(np.array([1.0, 4.0, 3.0]), count=2).numpy())
    run_failures(library)
