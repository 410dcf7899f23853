# SPDX-License-Identifier: Apache-2.0
"""Timer of calls in a compiled JAX program, run by xla_time.py with the libraries to call.

Prints a JSON object: for each implementation, the nanoseconds of one call in each round.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

import tvm_ffi
from tvm_ffi.interop.jax import call_tvm_ffi

CALLS = 200  # number of calls per program; each call takes the result of the previous call
OUT = jax.ShapeDtypeStruct((4,), np.float32)

Call = Callable[[Any], Any]


def calls_of(kernels: str, by_hand: str) -> dict[str, Call]:
    """Return the call of y = x + 1 through each implementation."""
    add_one = tvm_ffi.load_module(kernels).add_one
    handler = jax.ffi.pycapsule(ctypes.CDLL(by_hand).by_hand)
    jax.ffi.register_ffi_target("by_hand", handler, platform="cpu")
    calls: dict[str, Call] = {
        "ours": lambda x: call_tvm_ffi(add_one, x),
        "floor": jax.ffi.ffi_call("by_hand", OUT),
    }
    try:
        import jax_tvm_ffi
    except ImportError:
        return calls
    jax_tvm_ffi.register_ffi_target("jax_tvm_ffi", add_one, platform="cpu")
    calls["incumbent"] = jax.ffi.ffi_call("jax_tvm_ffi", OUT)
    return calls


def program_of(call: Call) -> Call:
    """Return a compiled program of `CALLS` consecutive calls."""

    def run(x: Any) -> Any:
        for _ in range(CALLS):
            x = call(x)
        return x

    compiled: Call = jax.jit(run).lower(OUT).compile()
    assert compiled(jnp.zeros(4))[3] == CALLS
    return compiled


def time_of(program: Call, x: Any) -> float:
    """Return the nanoseconds of one call."""
    begin = time.perf_counter_ns()
    for _ in range(10):
        program(x).block_until_ready()
    return (time.perf_counter_ns() - begin) / (10 * CALLS)


def main() -> None:
    """Time the implementations, interleaved."""
    rounds, kernels, by_hand = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    programs = {name: program_of(call) for name, call in calls_of(kernels, by_hand).items()}
    x = jnp.zeros(4)
    samples: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(rounds):
        for name, program in programs.items():
            samples[name].append(time_of(program, x))
    print(json.dumps(samples))


main()
