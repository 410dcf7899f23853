# SPDX-License-Identifier: Apache-2.0
from typing import Any

from tvm_ffi._binding.tensor.tensor import Tensor

def from_dlpack(
    ext_tensor: Any,
    *,
    require_alignment: int = 0,
    require_contiguous: bool = False,
    stream: Any = None,
) -> Tensor: ...
