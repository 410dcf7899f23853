# SPDX-License-Identifier: Apache-2.0
"""Call the kernel of ``src/add_one_cpu.c`` from Python with NumPy arrays and PyTorch tensors.

``src/load.c`` does the same in C.  The kernel reads and writes the memory of the arrays.

    python load.py [LIBRARY]      LIBRARY defaults to build/add_one_cpu.so in this folder
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import tvm_ffi


def call_with_numpy(module: tvm_ffi.Module) -> None:
    """Call the kernel with a NumPy view that has a negative stride."""
    x = np.arange(10, dtype=np.float32)[::-2]
    y = np.zeros_like(x)
    module.add_one_cpu(x, y)
    np.testing.assert_array_equal(y, x + 1)
    print(f"NumPy    strides {x.strides} bytes: x = {x}, y = {y}")


def call_with_torch(module: tvm_ffi.Module) -> None:
    """Call the kernel with a column of a PyTorch matrix, if PyTorch is installed."""
    try:
        import torch
    except ImportError:
        print("PyTorch  not installed, skipped")
        return
    x = torch.arange(12, dtype=torch.float32).reshape(4, 3)[:, 1]
    y = torch.zeros(4)
    module.add_one_cpu(x, y)
    torch.testing.assert_close(y, x + 1)
    print(f"PyTorch  stride {x.stride(0)}: x = {x.tolist()}, y = {y.tolist()}")


def show_errors(module: tvm_ffi.Module) -> None:
    """Show the exceptions for arguments that the kernel refuses."""
    x = np.zeros(3, dtype=np.float32)
    for bad, kind in [
        (None, TypeError),
        (np.zeros(3), TypeError),
        (np.zeros((3, 1), dtype=np.float32), ValueError),
        (np.zeros(4, dtype=np.float32), ValueError),
    ]:
        try:
            module.add_one_cpu(x, bad)
        except kind as error:
            print(f"{kind.__name__:<10} {error}")
        else:
            raise SystemExit(f"expected {kind.__name__} for {bad!r}")


def main(path: Path) -> None:
    """Load the library, call the kernel and show its errors."""
    module = tvm_ffi.load_module(path)
    call_with_numpy(module)
    call_with_torch(module)
    show_errors(module)


if __name__ == "__main__":
    default = Path(__file__).resolve().parent / "build" / "add_one_cpu.so"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else default)
