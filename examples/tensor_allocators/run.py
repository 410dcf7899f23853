# SPDX-License-Identifier: Apache-2.0
"""Create tensors with the allocators of the library:  ``python run.py LIBRARY``."""

from __future__ import annotations

import sys

import numpy as np

import tvm_ffi


def run_aligned(module: tvm_ffi.Module) -> None:
    """Allocate a tensor whose address is a multiple of 4096 bytes."""
    tensor = module.new_aligned(tvm_ffi.Shape((3, 5)), 4096)
    address = np.from_dlpack(tensor).ctypes.data
    print(f"aligned  {tuple(tensor.shape)}, address % 4096 = {address % 4096}")


def run_pooled(module: tvm_ffi.Module) -> None:
    """Show that the pool reuses the memory of a released tensor."""
    first = np.from_dlpack(module.new_pooled(tvm_ffi.Shape((1024,))))
    address = first.ctypes.data
    print("pooled   free blocks while in use:", module.count_free_blocks(), end="")
    del first  # the NumPy array owns the last reference to the tensor
    print(", after:", module.count_free_blocks(), end="")
    again = np.from_dlpack(module.new_pooled(tvm_ffi.Shape((1024,))))
    print(", reused:", again.ctypes.data == address)


def run_environment(module: tvm_ffi.Module) -> None:
    """Allocate a tensor with PyTorch's allocator, if PyTorch is installed."""
    try:
        import torch
    except ImportError:
        print("PyTorch  not installed, skipped")
        return
    made = module.new_like(torch.ones(2, 3))
    print(f"PyTorch  made a {type(made).__module__}.{type(made).__name__} of {list(made.shape)}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: {sys.argv[0]} LIBRARY")
    library = tvm_ffi.load_module(sys.argv[1])
    run_aligned(library)
    run_pooled(library)
    run_environment(library)
