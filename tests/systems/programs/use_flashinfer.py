# SPDX-License-Identifier: Apache-2.0
"""Build a FlashInfer module from source; set signatures of its functions, call them by keywords.

Requires a CUDA compiler.  Without a GPU the call ends at the kernel launch.
"""

import inspect
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "published"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python" / "support"))

import torch
from device_array import Array
from flashinfer_setting import HAS_DRIVER, built, gen_quantization_module

SIGNATURES = {
    "packbits": "packbits(x: bool[n], bitorder: str, y: out uint8[cdiv(n, 8)]) "
    "doc 'Pack truths into bits, big or little end first.'",
    "segment_packbits": "segment_packbits(x: bool[n], input_indptr: int32[b], "
    "output_indptr: int32[b], bitorder: str, y: out uint8[_])",
}


def refusal(call, *args, **kwargs) -> str:
    """Return the error message of a call that must fail."""
    try:
        call(*args, **kwargs)
    except (RuntimeError, TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError("a call with wrong arguments raised no error")


module = built(gen_quantization_module())
assert module.functions == ("packbits", "segment_packbits")
x, y = torch.ones(12, dtype=torch.bool), torch.zeros(2, dtype=torch.uint8)

# The message of the host code itself has positions, not names.
said = refusal(module.packbits, x, 3, y)
assert "argument #1" in said, said

module.describe(SIGNATURES)
packbits = module.packbits
assert list(inspect.signature(packbits).parameters) == ["x", "bitorder", "y"]
assert "big or little" in packbits.__doc__

# The host code receives keyword arguments in the order of its parameters.
said = refusal(packbits, y=y, bitorder="big", x=x)
assert "x must be a CUDA tensor" in said, said
said = refusal(packbits, x, y=y)
assert said == "TypeError: packbits() missing 1 required positional argument: 'bitorder'", said
said = refusal(packbits, x, order="big", y=y)
assert "unexpected keyword argument 'order'; did you mean 'bitorder'?" in said, said

# The signature checks the length of y; the host code does not check it.
signature = module.get_function_signature("packbits")
signature.check(x, "big", y)
said = refusal(signature.check, x, "big", y[:1])
assert said == "ValueError: packbits() argument 'y': shape[0] must be cdiv(n, 8) = 2, got 1", said
said = refusal(signature.check, x.byte(), "big", y)
assert said == "ValueError: packbits() argument 'x': expected dtype bool, got uint8", said

if not HAS_DRIVER:  # on a GPU, the kernel would read out of bounds
    gpu_x, gpu_y = Array(x.numpy()), Array(y.numpy())
    said = refusal(packbits, y=gpu_y, bitorder="middle", x=gpu_x)
    assert "bitorder must be 'big' or 'little'" in said, said
    said = refusal(packbits, y=gpu_y, bitorder="big", x=gpu_x)
    assert "PackBits failed with error code CUDA driver version is insufficient" in said, said
print("done")
