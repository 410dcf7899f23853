# SPDX-License-Identifier: Apache-2.0
"""Build two FlashInfer modules for a GPU with its JIT compiler, and call them on the host.

Requires a CUDA compiler, but no GPU and no driver.
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "published"))

import torch
from flashinfer_setting import built, flashinfer, gen_page_module, gen_quantization_module
from replays import replayed


def check_refusal(expected, function, *arguments):
    """Assert that the host code of a module reports invalid arguments."""
    try:
        function(*arguments)
    except Exception as error:
        assert re.search(expected, str(error)), error
    else:
        raise AssertionError(f"{function} accepted invalid arguments")


bits = torch.ones(8, dtype=torch.bool)
with replayed("packbits"):
    check_refusal("x must be a CUDA tensor", flashinfer.packbits, bits)
packbits = built(gen_quantization_module()).packbits
check_refusal(r"packbits\(.*got 1 argument", packbits, bits)

built(gen_page_module())
rows = torch.zeros(2, 1, 64, dtype=torch.float16)
cache = torch.zeros(1, 2, 16, 1, 64, dtype=torch.float16)
index = torch.zeros(2, dtype=torch.int32)
append = flashinfer.append_paged_kv_cache
with replayed("append_paged_kv_cache"):
    tensors = rows, rows, index, index, cache, index, index, index
    check_refusal("must be a CUDA tensor", append, *tensors)
print("done")
