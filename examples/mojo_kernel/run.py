# SPDX-License-Identifier: Apache-2.0
"""Call the Mojo kernels from Python:  ``python run.py LIBRARY``."""

from __future__ import annotations

import sys

import numpy as np

import tvm_ffi
from tvm_ffi import codegen


def run_relu(library: str) -> None:
    """Call the function ``relu``; its signature is in a text file next to the library."""
    relu = tvm_ffi.load_module(library).relu
    x, y = np.array([-1, 2, -3, 4], np.float32), np.empty(4, np.float32)
    relu(y=y, x=x)
    np.testing.assert_array_equal(y, [0, 2, 0, 4])
    print(f"relu   {y}")
    try:
        relu(x, y[:3])
    except ValueError as error:
        print(f"       ValueError: {error}")


def run_scale(library: str) -> None:
    """Wrap and call the function ``scale``; its signature provides names and checks."""
    text = "scale(x: float32*[n], y: out float32*[n], n: int64, factor: float32 = 2.0)"
    scale = codegen.wrap_library(library, [text]).scale
    x, y = np.array([1, 2, 3], np.float32), np.empty(3, np.float32)
    scale(x, y, 3)
    np.testing.assert_array_equal(y, [2, 4, 6])
    scale(x=x, y=y, n=3, factor=0.5)
    print(f"scale  {y}")
    try:
        scale(x, y, 4)
    except ValueError as error:
        print(f"       ValueError: {error}")


def run_scale_on_torch(library: str) -> None:
    """Call the function ``relu`` with PyTorch tensors, if PyTorch is installed."""
    try:
        import torch
    except ImportError:
        print("torch  not installed, skipped")
        return
    x, y = torch.tensor([-1.0, 1.0]), torch.empty(2)
    tvm_ffi.load_module(library).relu(x, y)
    print(f"torch  {y.tolist()}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: {sys.argv[0]} LIBRARY")
    run_relu(sys.argv[1])
    run_scale(sys.argv[1])
    run_scale_on_torch(sys.argv[1])
