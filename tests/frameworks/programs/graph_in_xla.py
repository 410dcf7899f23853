# SPDX-License-Identifier: Apache-2.0
"""A compiled graph as a node of a computation that XLA compiles."""

from __future__ import annotations

import graph_library
import jax
import numpy as np

from tvm_ffi.interop.jax import call_tvm_ffi

module = graph_library.load()


@jax.jit
def model(x, *weights):
    y = call_tvm_ffi(module.classify, x * 1.0, *weights)
    return y.argmax(axis=1), y


arrays = graph_library.inputs()
labels, probabilities = model(*arrays)
wanted = graph_library.expected(*arrays)
np.testing.assert_allclose(probabilities, wanted, rtol=1e-5, atol=1e-6)
assert labels.tolist() == wanted.argmax(axis=1).tolist()
print("done")
