# SPDX-License-Identifier: Apache-2.0
"""Paddle: tensors as arguments and results, with and without Paddle's exchange API."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import paddle

import tvm_ffi

WITHOUT_TABLE = "TVM_FFI_SKIP_DLPACK_C_EXCHANGE_API"
pass_on = tvm_ffi.get_global_func("ffi.Array")  # native


def check_device() -> None:
    """Paddle reports None as the index of the CPU, for tensors and for places."""
    tensor = paddle.zeros([2])
    assert tuple(tensor.__dlpack_device__()) == (1, None)
    assert tvm_ffi.from_dlpack(tensor).device == tvm_ffi.device("cpu", 0)
    assert tvm_ffi.convert_func(lambda place: place)(tensor.place) == tvm_ffi.device("cpu", 0)


def check_values() -> None:
    tensor = paddle.arange(6, dtype="float32").reshape([2, 3])
    for view in (tensor, tensor.T, tensor[1:, ::2]):
        seen = tvm_ffi.from_dlpack(view)
        assert seen.tolist() == view.numpy().tolist()
    seen = tvm_ffi.from_dlpack(tensor).numpy()
    seen[0, 0] = 7
    assert float(tensor[0, 0]) == 7  # both tensors have the same memory


def check_dtypes() -> None:
    for name in ("bool", "int8", "int64", "float16", "bfloat16", "float64", "complex64"):
        assert str(tvm_ffi.from_dlpack(paddle.zeros([2], dtype=name)).dtype) == name


def check_results() -> None:
    tensor = paddle.ones([3])
    (result,) = pass_on(tensor)
    expected = tvm_ffi.Tensor if WITHOUT_TABLE in os.environ else paddle.Tensor
    assert isinstance(result, expected)
    function = tvm_ffi.convert_func(lambda x: tvm_ffi.from_dlpack(np.from_dlpack(x) + 1))
    assert np.asarray(function(tensor)).tolist() == [2, 2, 2]


if __name__ == "__main__":
    for name, check in list(globals().items()):
        if name.startswith("check_"):
            check()
            print(name)
    if WITHOUT_TABLE not in os.environ:
        subprocess.run(
            [sys.executable, __file__], env={**os.environ, WITHOUT_TABLE: "1"}, check=True
        )
    print("done")
