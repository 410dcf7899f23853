# SPDX-License-Identifier: Apache-2.0
"""Call time in a compiled JAX program: our adapter, jax-tvm-ffi, and a hand-written XLA handler.

The incumbent column is jax-tvm-ffi on our runtime.  The floor column is an XLA FFI handler for the
one function, ``xla/by_hand.cc``, compiled with jaxlib's headers.  Each cell includes XLA's share of
the call, which is most of it.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path

from environment import BENCHMARKS, BUILD, Interpreter, library_of
from results import FLOOR, INCUMBENT, OURS, Row, Samples, Unavailable
from scratch_environment import SetupError, run_program

SOURCES = BENCHMARKS / "xla"
XLA_ROWS = ("xla_call",)


def measure_xla(
    interpreter: Interpreter, rounds: int, progress: Callable[[str], None]
) -> list[Row]:
    """Return the row of calls in a compiled JAX program (XLA)."""
    row = Row("xla_call", "call in a compiled JAX program", "ns")
    progress("XLA")
    row.cells = {INCUMBENT: Unavailable("jax-tvm-ffi is not installed")}
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
    names = {"ours": OURS, "incumbent": INCUMBENT, "floor": FLOOR}
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
