# SPDX-License-Identifier: Apache-2.0
"""Run the graph node by node, and call the function that it was compiled to."""

from __future__ import annotations

import numpy as np
from compile import classifier

import tvm_ffi

module = tvm_ffi.load_module("./classify.so")
random = np.random.default_rng(0)
shapes = [(5, 4), (4, 8), (8,), (8, 3), (3,)]
x, w1, b1, w2, b2 = (random.standard_normal(shape, np.float32) for shape in shapes)

scores = np.maximum(x @ w1 + b1, 0) @ w2 + b2
expected = np.exp(scores / 0.5)
expected /= expected.sum(axis=1, keepdims=True)

interpreted = classifier().run(module, x, w1, b1, w2, b2)
print("node by node", np.allclose(interpreted, expected, atol=1e-6))

calls, output = classifier().prepare(module, x, w1, b1, w2, b2)
output[:] = 0
calls()
print("prepared    ", np.array_equal(output, interpreted))

compiled = np.empty((5, 3), np.float32)
module.classify(x, w1, b1, w2, b2, compiled)
print("compiled    ", np.array_equal(compiled, interpreted))

try:
    module.classify(x, w2, b1, w2, b2, compiled)
except ValueError as error:
    print(error)
