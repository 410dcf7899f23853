# SPDX-License-Identifier: Apache-2.0
"""What a call in a compiled program of JAX costs, beside jax-tvm-ffi and a handler of XLA's own.

In place of the peer stands jax-tvm-ffi, on our runtime; in place of the floor a handler for the one
function, ``xla/by_hand.cc``, compiled with the headers of jaxlib.  All that is between is in each
cell: XLA's own part of a call is most of it.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path

from environment import BENCHMARKS, BUILD, Interpreter, library_of
from results import FLOOR, OURS, PEER, Row, Samples, Unavailable
from scratch_environment import SetupError, run_program

SOURCES = BENCHMARKS / "xla"
XLA_ROWS = ("xla_call",)


def measure_xla(
    interpreter: Interpreter, rounds: int, progress: Callable[[str], None]
) -> list[Row]:
    """Return the row about XLA."""
    row = Row("xla_call", "call in a program of JAX", "ns")
    progress("XLA")
    row.cells = {PEER: Unavailable("jax-tvm-ffi is not installed")}
    try:
        row.cells.update(_measured(interpreter, rounds))
    except SetupError as error:
        reason = str(error).strip().splitlines()[-1]
        row.cells.update({name: Unavailable(reason) for name in (OURS, FLOOR)})
    return [row]


def _measured(interpreter: Interpreter, rounds: int) -> dict[str, Samples]:
    BUILD.mkdir(parents=True, exist_ok=True)
    xla = interpreter.run("-c", "import jax; print(jax.ffi.include_dir())").strip()
    library = library_of(interpreter)
    headers = interpreter.run("-m", "tvm_ffi.config", "--includedir").strip()
    kernels = _compile("kernel.c", os.environ.get("CC", "cc"), f"-I{headers}", library)
    by_hand = _compile("by_hand.cc", f"{os.environ.get('CXX', 'c++')} -std=c++17", f"-I{xla}")
    printed = interpreter.run(
        str(SOURCES / "time_calls.py"), str(rounds), str(kernels), str(by_hand)
    )
    names = {"ours": OURS, "peer": PEER, "floor": FLOOR}
    return {names[name]: Samples(values) for name, values in json.loads(printed).items()}


def _compile(source: str, compiler: str, include: str, library: Path | None = None) -> Path:
    built = BUILD / f"xla_{Path(source).stem}.so"
    link = [] if library is None else [f"-L{library.parent}", "-ltvm_ffi"]
    run_program(
        [*shlex.split(compiler), "-O2", "-shared", "-fPIC", include, SOURCES / source, "-o", built,
         *link],
        folder=BENCHMARKS,
    )  # fmt: skip
    return built
