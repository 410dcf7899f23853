# SPDX-License-Identifier: Apache-2.0
"""Launch a PTX kernel through the CUDA driver:  ``python run.py``.

Without PyTorch or a CUDA device, the program only shows the argument checks.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import tvm_ffi
from tvm_ffi import cuda

BLOCK = 256

SCALE = cuda.Kernel(
    ["x: float32[]", "factor: float32", "y: float32[]", "n: int64"],
    launch=["gridDim.x"],
    fixed={"blockDim.x": BLOCK},
    symbol="scale_f32",
)


def run_torch(module: tvm_ffi.Module) -> None:
    """Call the kernel on each CUDA device, on PyTorch's current stream."""
    try:
        import torch
    except ImportError:
        print("PyTorch  not installed, skipped")
        return
    if not torch.cuda.is_available():
        print("PyTorch  no CUDA device, skipped")
        return
    for index in range(torch.cuda.device_count()):
        x = torch.arange(1.0, 1001.0, device=f"cuda:{index}")
        y = torch.zeros_like(x)
        module.scale(x, 2.5, y, x.numel(), -(-x.numel() // BLOCK))
        torch.testing.assert_close(y, 2.5 * x)
    print(f"PyTorch  scale({x[:4].tolist()}..., 2.5) wrote {y[:4].tolist()}...: correct")


def run_errors(module: tvm_ffi.Module) -> None:
    """Show the errors for wrong arguments; they are raised before the driver is called."""
    array = np.zeros(4, np.float32)
    for arguments in [(array, 2.5, array, 4, 1), (None, 2.5, None, 4, 0), (None, 2.5, None)]:
        try:
            module.scale(*arguments)
        except (TypeError, ValueError) as error:
            print(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    module = cuda.create_module(Path(__file__).with_name("scale.ptx"), {"scale": SCALE})
    print(f"{module.kind}: {module.get_function_doc('scale')}")
    run_torch(module)
    run_errors(module)
