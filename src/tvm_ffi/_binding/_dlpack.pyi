# SPDX-License-Identifier: Apache-2.0
from typing import Any

from ._tensor import Tensor

def from_dlpack(
    ext_tensor: Any, *, require_alignment: int = 0, require_contiguous: bool = False
) -> Tensor: ...
