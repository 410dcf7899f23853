# SPDX-License-Identifier: Apache-2.0
"""A compiled graph as a node of a graph that Inductor compiles."""

from __future__ import annotations

import graph_library
import numpy as np
import torch

import tvm_ffi.interop.torch  # noqa: F401  (which lets torch trace calls)

module = graph_library.load()


@torch.compile(fullgraph=True)
def model(x, *weights):
    y = torch.empty(x.shape[0], 3)
    module.classify(x * 1.0, *weights, y)
    return y.argmax(dim=1), y


arrays = graph_library.inputs()
labels, probabilities = model(*map(torch.from_numpy, arrays))
wanted = graph_library.expected(*arrays)
np.testing.assert_allclose(probabilities.numpy(), wanted, rtol=1e-5, atol=1e-6)
assert labels.tolist() == wanted.argmax(axis=1).tolist()
print("done")
