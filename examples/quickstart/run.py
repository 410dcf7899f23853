# SPDX-License-Identifier: Apache-2.0
"""Call the compiled kernel from Python:  ``python run.py LIBRARY``.

Arrays are passed without a copy: the kernel writes its result to the memory of an array argument.
"""

from __future__ import annotations

import sys

import numpy as np

import tvm_ffi


def run_numpy(module: tvm_ffi.Module) -> None:
    """Call ``add_one`` with NumPy arrays; the output is a view of a larger array."""
    x = np.array([1, 2, 3, 4], dtype=np.float32)
    buffer = np.zeros(8, dtype=np.float32)
    module.add_one(x, buffer[2:6])
    np.testing.assert_array_equal(buffer, [0, 0, 2, 3, 4, 5, 0, 0])
    print(f"NumPy    add_one({x.tolist()}) wrote into buffer[2:6] of {buffer.tolist()}: correct")


def run_torch(module: tvm_ffi.Module) -> None:
    """Call ``add_one`` in place with a PyTorch tensor, if PyTorch is installed."""
    try:
        import torch
    except ImportError:
        print("PyTorch  not installed, skipped")
        return
    x = torch.tensor([1.0, 2.0, 3.0, 4.0])
    module.add_one(x, x)
    torch.testing.assert_close(x, torch.tensor([2.0, 3.0, 4.0, 5.0]))
    print(f"PyTorch  add_one in place turned [1.0, 2.0, 3.0, 4.0] into {x.tolist()}: correct")


def run_wrong_dtype(module: tvm_ffi.Module) -> None:
    """Show that an error raised in C is a Python exception."""
    try:
        module.add_one(np.zeros(4), np.zeros(4))
    except TypeError as error:
        print(f"float64  raised TypeError: {error}")
    else:
        raise SystemExit("expected add_one to raise TypeError for float64 arrays")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: {sys.argv[0]} LIBRARY")
    library = tvm_ffi.load_module(sys.argv[1])
    run_numpy(library)
    run_torch(library)
    run_wrong_dtype(library)
