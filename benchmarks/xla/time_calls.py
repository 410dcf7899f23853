# SPDX-License-Identifier: Apache-2.0
"""Time calls in a compiled program of JAX; run by xla_time.py with the libraries to call.

Prints a line of JSON: for each way of calling, the nanoseconds of one call in each round.
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

CALLS = 200  # in one program, each on the result of the one before
OUT = jax.ShapeDtypeStruct((4,), np.float32)

Call = Callable[[Any], Any]


def ways(kernels: str, by_hand: str) -> dict[str, Call]:
    """Return how each way calls the function: y = x + 1."""
    add_one = tvm_ffi.load_module(kernels).add_one
    handler = jax.ffi.pycapsule(ctypes.CDLL(by_hand).by_hand)
    jax.ffi.register_ffi_target("by_hand", handler, platform="cpu")
    found: dict[str, Call] = {
        "ours": lambda x: call_tvm_ffi(add_one, x),
        "floor": jax.ffi.ffi_call("by_hand", OUT),
    }
    try:
        import jax_tvm_ffi
    except ImportError:
        return found
    jax_tvm_ffi.register_ffi_target("theirs", add_one, platform="cpu")
    found["peer"] = jax.ffi.ffi_call("theirs", OUT)
    return found


def program_of(call: Call) -> Call:
    """Compile a program that calls again and again."""

    def run(x: Any) -> Any:
        for _ in range(CALLS):
            x = call(x)
        return x

    compiled: Call = jax.jit(run).lower(OUT).compile()
    assert compiled(jnp.zeros(4))[3] == CALLS
    return compiled


def time_of(program: Call, x: Any) -> float:
    """Return the nanoseconds of a call."""
    begin = time.perf_counter_ns()
    for _ in range(10):
        program(x).block_until_ready()
    return (time.perf_counter_ns() - begin) / (10 * CALLS)


def main() -> None:
    """Time all ways in turn."""
    rounds, kernels, by_hand = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    programs = {name: program_of(call) for name, call in ways(kernels, by_hand).items()}
    x = jnp.zeros(4)
    samples: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(rounds):
        for name, program in programs.items():
            samples[name].append(time_of(program, x))
    print(json.dumps(samples))


main()
