# SPDX-License-Identifier: Apache-2.0
"""The graph compiler example: its README, failing nodes, and unusual graphs."""

from __future__ import annotations

import importlib.util
import shutil
import sys

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import codegen, cpp

NAME = "graph_compiler"

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed")


@pytest.fixture
def graph_module(example, monkeypatch):
    """Return the example's module `graph` and its folder."""
    folder = example(NAME)
    spec = importlib.util.spec_from_file_location("graph_of_example", folder / "graph.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # dataclasses look it up there
    spec.loader.exec_module(module)
    return module, folder


@pytest.fixture
def build(graph_module):
    """Return a function that compiles a graph with the C functions that it calls."""
    _, folder = graph_module

    def build(graph, functions, kernels):
        wrappers = codegen.c.source_of([*functions, graph.wrapper()])
        library = cpp.build_inline(
            graph.name,
            c_sources=[wrappers, graph.source(), kernels],
            extra_include_paths=[str(folder)],
        )
        return tvm_ffi.load_module(library)

    return build


def test_commands_of_the_readme(example, run, readme_blocks):
    (block,), (shown,) = readme_blocks(NAME, "sh"), readme_blocks(NAME, "")
    assert run("sh", "-euc", block, cwd=example(NAME)) == shown


FAIL = """
#include <stdint.h>
#include <string.h>
int copy_or_fail(const float* x, float* y, int64_t n, int64_t code) {
  memcpy(y, x, n * sizeof(float));
  return (int)code;
}
"""
COPY = codegen.make_wrapper(
    "copy(x: float32[n], code: int, y: out float32[n])",
    "copy_or_fail",
    arguments=["x", "y", "n", "code"],
    returns="status",
)


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_a_failing_node_stops_the_graph(graph_module, build, failing):
    graph = graph_module[0].Graph("chain", ["x: float32[n]"])
    value = graph["x"]
    for position in range(3):
        value = graph.call_tvm_ffi("copy", value, int(position == failing), out="float32[n]")
    module = build(graph, [COPY], FAIL)
    x, y = np.ones(5, np.float32), np.zeros(5, np.float32)
    for call in (lambda: module.chain(x, y), lambda: graph.run(module, x)):
        with pytest.raises(RuntimeError, match=r"copy\(\) failed: copy_or_fail returned 1"):
            call()
    assert y.tolist() == [0] * 5 if failing < 2 else y.tolist() == [1] * 5


def test_extents_can_be_expressions_and_tensors_can_be_empty(graph_module, build):
    pad = """
    #include <stdint.h>
    void pad_f32(const float* x, float* y, int64_t n, int64_t m) {
      for (int64_t i = 0; i < m; ++i) y[i] = i < n ? x[i] : -1;
    }
    """
    wrapper = codegen.make_wrapper(
        "pad(x: float32[n], y: out float32[m])", "pad_f32", arguments=["x", "y", "n", "m"]
    )
    graph = graph_module[0].Graph("to_blocks", ["x: float32[n]"])
    padded = graph.call_tvm_ffi("pad", graph["x"], out="float32[4*cdiv(n, 4)]")
    graph.call_tvm_ffi("pad", padded, out="float32[4*cdiv(n, 4) + 1]", name="y")
    module = build(graph, [wrapper], pad)
    for n in (0, 1, 4, 5):
        x = np.arange(n, dtype=np.float32)
        blocks = -(-n // 4) * 4
        expected = [*range(n), *[-1] * (blocks - n + 1)]
        y = np.zeros(blocks + 1, np.float32)
        module.to_blocks(x, y)
        assert y.tolist() == expected
        assert graph.run(module, x).tolist() == expected


def test_a_graph_of_one_call_and_numbers_as_arguments(graph_module, build):
    fill = """
    #include <stdint.h>
    void fill_f32(float* y, int64_t n, int64_t a, double b) {
      for (int64_t i = 0; i < n; ++i) y[i] = (float)(a + b);
    }
    """
    wrapper = codegen.make_wrapper(
        "fill(a: int, b: float, y: out float32[n])", "fill_f32", arguments=["y", "n", "a", "b"]
    )
    graph = graph_module[0].Graph("constant", [])
    graph.call_tvm_ffi("fill", -(2**40), 2.0**40 + 0.5, out="float32[3]", name="y")
    y = np.zeros(3, np.float32)
    module = build(graph, [wrapper], fill)
    module.constant(y)
    assert y.tolist() == graph.run(module).tolist() == [0.5] * 3


def test_invalid_graphs_are_refused(graph_module):
    graph = graph_module[0].Graph("wrong", ["x: float32[n]", "a: int"])
    with pytest.raises(ValueError, match="graph wrong has no calls"):
        graph.wrapper()
    with pytest.raises(KeyError, match="'a'"):  # a value that is not a tensor
        graph["a"]
    with pytest.raises(TypeError, match="out must be a tensor with a shape, got 'int'"):
        graph.call_tvm_ffi("f", out="int")
    with pytest.raises(ValueError, match="'m'"):
        graph.call_tvm_ffi("f", graph["x"], out="float32[2*m]")
