# SPDX-License-Identifier: Apache-2.0
"""Compile a classifier to one library that contains its graph, kernels and wrappers."""

from __future__ import annotations

import shutil
from pathlib import Path

from graph import Graph

from tvm_ffi import codegen, cpp

HERE = Path(__file__).resolve().parent

KERNELS = [
    codegen.make_wrapper(
        "dense(x: float32[n, k], w: float32[k, m], b: float32[m], y: out float32[n, m])",
        "dense_f32",
        arguments=["x", "w", "b", "y", "n", "k", "m"],
    ),
    codegen.make_wrapper(
        "relu(x: float32[n, m], y: out float32[n, m])",
        "relu_f32",
        arguments=["x", "y", "n*m"],
    ),
    codegen.make_wrapper(
        "softmax(x: float32[n, m], temperature: float32, y: out float32[n, m])",
        "softmax_f32",
        arguments=["x", "y", "n", "m", "temperature"],
    ),
]


def classifier() -> Graph:
    """Return the graph of a two-layer network that computes the probabilities of 3 classes."""
    graph = Graph(
        "classify",
        [
            *("x: float32[n, 4]", "w1: float32[4, 8]", "b1: float32[8]"),
            *("w2: float32[8, 3]", "b2: float32[3]"),
        ],
    )
    hidden = graph.call_tvm_ffi("dense", graph["x"], graph["w1"], graph["b1"], out="float32[n, 8]")
    hidden = graph.call_tvm_ffi("relu", hidden, out="float32[n, 8]")
    scores = graph.call_tvm_ffi("dense", hidden, graph["w2"], graph["b2"], out="float32[n, 3]")
    graph.call_tvm_ffi("softmax", scores, 0.5, out="float32[n, 3]", name="y")
    return graph


def build(graph: Graph) -> str:
    """Compile a graph, the kernels and their wrappers; return the path of the library."""
    return cpp.build_inline(
        graph.name,
        c_sources=[
            codegen.c.source_of([*KERNELS, graph.wrapper()]),
            graph.source(),
            (HERE / "kernels.c").read_text(encoding="utf-8"),
        ],
        extra_include_paths=[str(HERE)],
        extra_ldflags=["-lm"],
    )


if __name__ == "__main__":
    shutil.copyfile(build(classifier()), "classify.so")
    print(classifier().signature)
