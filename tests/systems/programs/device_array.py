# SPDX-License-Identifier: Apache-2.0
"""Arrays that programs pass to kernels on the fake CUDA driver."""

import numpy as np
from forged import Source


class Array(Source):
    """An array in host memory that declares its memory as GPU memory."""

    def __init__(self, content: np.ndarray) -> None:
        super().__init__(
            content.shape, [s // content.itemsize for s in content.strides], device=(2, 0)
        )
        self.content = content
        self.managed.tensor.data = content.ctypes.data
        code, bits = {"b": 6, "f": 2, "i": 0, "u": 1}[content.dtype.kind], 8 * content.itemsize
        self.managed.tensor.dtype.code, self.managed.tensor.dtype.bits = code, bits
