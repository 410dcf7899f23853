# SPDX-License-Identifier: Apache-2.0
"""Worker process of `torch_time`: times eager and compiled calls, and calls of operators.

Answers each request ``{"measure": NAME, "burst_ns": N}``, one JSON object per line, with
``{"ns": N}``, the nanoseconds of one call.
"""

from __future__ import annotations

import importlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable

import torch

import tvm_ffi
from tvm_ffi import cpp

SOURCE = "void touch(tvm::ffi::TensorView x, tvm::ffi::TensorView y, double factor) {}"
SIGNATURE = "touch(x: float32[n], y: out float32[n], factor: float = 2.0)"
CALLS = 20  # number of calls per compiled program; many, so that its fixed cost is small per call


def main() -> None:
    """Answer requests until the parent closes the pipe."""
    torch.set_num_threads(1)
    module = cpp.load_inline("benchmark_torch", cpp_sources=SOURCE, functions={"touch": SIGNATURE})
    x, y = torch.ones(8), torch.ones(8)
    runs: dict[str, tuple[Callable[[], Any], int]] = {
        "torch_eager": (_eager(module.touch, x, y), 1)
    }
    if "--adapter" in sys.argv:
        importlib.import_module("tvm_ffi.interop.torch")
        runs["torch_compiled"] = (_compiled(module.touch, x, y), CALLS)
        runs["custom_op"] = (_compiled(_custom_operator(module.touch), x, y), CALLS)
        runs.update({name: (run, 1) for name, run in _operators(module, x, y).items()})
    print(json.dumps({}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        run, calls = runs[request["measure"]]
        print(json.dumps({"ns": _time(run, request["burst_ns"]) / calls}), flush=True)


def _eager(function: Callable[..., Any], x: torch.Tensor, y: torch.Tensor) -> Callable[[], Any]:
    return lambda: function(x, y, 3.0)


def _custom_operator(function: tvm_ffi.Function) -> Callable[..., Any]:
    """Return `function` as a custom operator, written as PyTorch's documentation recommends."""

    def touch(x: torch.Tensor, y: torch.Tensor, factor: float = 2.0) -> None:
        function(x, y, factor)

    operator = torch.library.custom_op("benchmark::touch", touch, mutates_args={"y"})
    operator.register_fake(lambda x, y, factor=2.0: None)
    custom: Callable[..., Any] = operator
    return custom


def _operators(
    module: tvm_ffi.Module, x: torch.Tensor, y: torch.Tensor
) -> dict[str, Callable[[], Any]]:
    """Return calls of operators of the adapter, and of the same operators in C++."""
    import tvm_ffi.interop.torch as interop

    _load_cpp_operators()
    traced = interop.operator_of(module.touch)
    plain = interop.register(module.touch, "benchmark::touched", functional=True)
    write = interop.register(module.touch, "benchmark::written")
    derived = interop.register(
        module.touch,
        "benchmark::derived",
        functional=True,
        setup_context=lambda ctx, inputs, output: setattr(ctx, "factor", inputs[1]),
        backward=lambda ctx, grad: (grad * ctx.factor, None),
    )
    cpp_operators = torch.ops.benchmark_cpp
    in_cpp = cpp_operators.touched.default, cpp_operators.touch.default
    derived_in_cpp = cpp_operators.derived.default
    z = x.clone().requires_grad_()
    return {
        "torch_operator": lambda: plain(x, 3.0),
        "torch_operator_cpp": lambda: in_cpp[0](x, 3.0),
        "torch_operator_write": lambda: write(x, y, 3.0),
        "torch_operator_write_cpp": lambda: in_cpp[1](x, y, 3.0),
        "torch_operator_derived": lambda: derived(x, 3.0),
        "torch_operator_derived_cpp": lambda: derived_in_cpp(x, 3.0),
        "torch_operator_gradient": lambda: derived(z, 3.0),
        "torch_operator_gradient_cpp": lambda: derived_in_cpp(z, 3.0),
        "torch_operator_traced": lambda: traced(x, y, 3.0),
        "torch_operator_traced_cpp": lambda: in_cpp[1](x, y, 3.0),
    }


def _load_cpp_operators() -> None:
    """Compile ``torch_operator.cc`` with the headers of the installed torch, and load it."""
    source, torch_folder = (
        Path(__file__).with_name("torch_operator.cc"),
        Path(torch.__file__).parent,
    )
    with tempfile.TemporaryDirectory() as folder:
        command = [*shlex.split(os.environ.get("CXX", "c++")), "-std=c++20", "-O2", "-fPIC"]
        command += ["-shared", str(source), "-o", f"{folder}/operators.so"]
        command += [f"-I{torch_folder}/include", f"-L{torch_folder}/lib"]
        command += [f"-I{torch_folder}/include/torch/csrc/api/include"]
        subprocess.run([*command, "-ltorch_cpu", "-lc10"], check=True)
        torch.ops.load_library(f"{folder}/operators.so")


def _compiled(function: Callable[..., Any], *args: torch.Tensor) -> Callable[[], Any]:
    def program(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        for _ in range(CALLS):
            function(x, y, 3.0)
        return y

    run = torch.compile(program, fullgraph=True)
    with torch.no_grad():
        run(*args)
    return lambda: run(*args)


def _time(run: Callable[[], Any], burst_ns: int) -> float:
    """Return the nanoseconds of one run: the minimum of three bursts."""
    run()
    count = 1
    while _burst(run, count) < burst_ns:
        count *= 2
    return min(_burst(run, count) for _ in range(3)) / count


def _burst(run: Callable[[], Any], count: int) -> int:
    begin = time.perf_counter_ns()
    for _ in range(count):
        run()
    return time.perf_counter_ns() - begin


if __name__ == "__main__":
    main()
