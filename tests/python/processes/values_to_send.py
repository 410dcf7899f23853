# SPDX-License-Identifier: Apache-2.0
"""Values of every kind that can be sent between processes."""

from __future__ import annotations

import elsewhere
import ml_dtypes
import numpy as np

import tvm_ffi

# The result that `elsewhere.describe` has for these values.
EXPECTED = {
    "count": 3,
    "add": 11,
    "twice": 42,
    "main": 2,
    "tensor": [[0, 3], [1, 4], [2, 5]],
    "read-only": True,
    "bfloat16": "bfloat16",
    "array": [1, "two", 3.5],
    "step": ["Step", 2, ["a", 1]],
    "shape": [1, 0, 2],
    "dtype": "float8_e4m3fn",
    "device": "cuda:1",
    "error": "what went wrong",
}


def of_every_kind(library):
    """Return the values; `library` is the path of the compiled kernels."""
    module = tvm_ffi.load_module(library)
    fixed = np.arange(3)
    fixed.flags.writeable = False
    as_argument = tvm_ffi.convert_func(lambda x: x)
    return {
        "count": module.count,
        "module": module,
        "add": tvm_ffi.get_global_func("test.elsewhere.add"),
        "twice": tvm_ffi.convert_func(elsewhere.twice),
        "tensor": tvm_ffi.from_dlpack(np.arange(6).reshape(2, 3).T),
        "read-only": as_argument(fixed),
        "bfloat16": as_argument(np.ones(3, ml_dtypes.bfloat16)),
        "containers": tvm_ffi.Map({"array": [1, "two", 3.5], "dict": {"a": [None]}}),
        "step": elsewhere.make_step(2, ["a", 1]),
        "shape": tvm_ffi.Shape((1, 0, 2)),
        "dtype": tvm_ffi.dtype("float8_e4m3fn"),
        "device": tvm_ffi.device("cuda", 1),
        "error": tvm_ffi.core.Error("ValueError", "what went wrong", ""),
    }
