# SPDX-License-Identifier: Apache-2.0
"""Library of examples/graph_compiler, for programs that call the library in a framework."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

import tvm_ffi

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "graph_compiler"


def load():
    """Compile the example into the working directory and load it."""
    subprocess.run([sys.executable, EXAMPLE / "compile.py"], check=True)
    return tvm_ffi.load_module("./classify.so")


def inputs():
    """Return the arrays x, w1, b1, w2 and b2."""
    random = np.random.default_rng(0)
    shapes = [(5, 4), (4, 8), (8,), (8, 3), (3,)]
    return [random.standard_normal(shape, np.float32) for shape in shapes]


def expected(x, w1, b1, w2, b2):
    """Return the probabilities for these arrays, computed by NumPy."""
    exponents = np.exp((np.maximum(x @ w1 + b1, 0) @ w2 + b2) / 0.5)
    return exponents / exponents.sum(axis=1, keepdims=True)
