# SPDX-License-Identifier: Apache-2.0
"""Export a kernel for a GPU that TileLang compiles."""

import tilelang
import tilelang.language as T  # noqa: N812  # the name that its documentation uses


@T.prim_func
def add(x: T.Tensor((64,), "float32"), y: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=64):
        for i in T.Parallel(64):
            y[i] = x[i] + 1.0


target = {"kind": "cuda", "arch": "sm_90"}
tilelang.compile(add, target=target, execution_backend="tvm_ffi").export_library("emitted.so")
