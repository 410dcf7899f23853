# SPDX-License-Identifier: Apache-2.0
"""jax-tvm-ffi, which registers functions with XLA one by one, and tvm_ffi in one process."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax_tvm_ffi
import numpy as np

import tvm_ffi
from tvm_ffi.interop.jax import call_tvm_ffi

kernels = tvm_ffi.cpp.load_inline(
    "scale",
    cpp_sources="""
        void scale(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
          for (int64_t i = 0; i < x.numel(); ++i) {
            static_cast<float*>(y.data_ptr())[i] = 2 * static_cast<const float*>(x.data_ptr())[i];
          }
        }
    """,
    functions={"scale": "scale(x: float32[n], y: out float32[n])"},
)
jax_tvm_ffi.register_ffi_target("theirs.scale", kernels.scale, platform="cpu")
out = jax.ShapeDtypeStruct((4,), np.float32)


@jax.jit
def both(x):
    """Return the results of both for an array."""
    return jax.ffi.ffi_call("theirs.scale", out)(x), call_tvm_ffi(kernels.scale, x)


theirs, ours = both(jnp.arange(4.0))
assert theirs.tolist() == ours.tolist() == [0, 2, 4, 6]
print("done")
