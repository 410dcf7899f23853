# SPDX-License-Identifier: Apache-2.0
"""Libraries that compilers and headers emit, checked by the kit; writes the page of results.

Usage: ``python tests/conformance/emitted.py PAGE.md [NAME=PYTHON ...] [NAME=INCLUDES]``

A compiler of somebody else runs in an environment of its own, so its `NAME` of `EMITTERS` comes
with the Python of that environment, and the headers of another implementation with their folder.
The others are emitted by this package and its headers.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "conformance" / "src"))

from tvm_ffi_conformance.libraries.run import find_runtime, run_library  # noqa: E402
from tvm_ffi_conformance.matrix import matrix  # noqa: E402
from tvm_ffi_conformance.results import Results  # noqa: E402

COMPACT = ["add(x: float32[n] compact, y: out float32[n] compact)"]
# Apache TVM exports the entry function of a module under a second name.
COMPACT_AND_MAIN = [*COMPACT, COMPACT[0].replace("add", "main")]
HEADERS = [
    "add(x: float32[n], y: out float32[n])",
    "length(text: str, more: bytes, factor: float, twice: bool) -> int",
]


@dataclass
class Emitter:
    """A program that writes ``emitted.so`` into its folder.

    Attributes
    ----------
    program : str
        Program in the folder `emitters`, and its arguments.
    signatures : list of str
        Signatures of the functions, unless they are in the metadata of the library.
    foreign : bool
        The program needs an environment, or the headers a folder, from the command line.
    """

    program: str
    signatures: list[str]
    foreign: bool = False


EMITTERS = {
    "c-printer": Emitter("c_printer.py", []),
    "llvm-printer": Emitter("llvm_printer.py", []),
    "numba": Emitter("numba_kernels.py", []),
    "rust": Emitter("cargo", []),
    "headers": Emitter("headers.cc", HEADERS),
    "apache-headers": Emitter("headers.cc", HEADERS, foreign=True),
    "apache-tvm-c": Emitter("apache_tvm.py c", COMPACT_AND_MAIN, foreign=True),
    "apache-tvm-llvm": Emitter("apache_tvm.py llvm", COMPACT_AND_MAIN, foreign=True),
    # Kernels of a GPU: the kit checks the library, and calls nothing without a signature.
    "tilelang": Emitter("tilelang_kernel.py", [], foreign=True),
    "cutedsl": Emitter("cutedsl.py", COMPACT, foreign=True),
}
NOTES = """
## Deviations of others

- *apache-headers*: a `TensorView` of a tensor with null strides reads `stride(0)` through the null
  pointer. DLPack before 1.2 allows null strides for compact tensors.
- *apache-tvm-c*, *apache-tvm-llvm*: the emitted check takes the address of an opaque pointer, or of
  an object that is no tensor, for the address of a `DLTensor`. Tensors with a byte offset are
  refused. The code of the LLVM target needs an alignment of 16 bytes, and does not check it.
- *cutedsl*: a tensor with null strides is read through the null pointer.
- *tilelang*: exports kernels for GPUs only (its backend for the host makes no library with this
  convention), so the kit checked the library without calls.
"""


def emit(name: str, other: str | None, folder: Path) -> Path:
    """Return the library that an emitter writes."""
    emitter = EMITTERS[name]
    program, *arguments = emitter.program.split()
    source, library = HERE / "emitters" / program, folder / "emitted.so"
    if program == "cargo":
        crate = ROOT / "examples" / "rust_kernel"
        command = ["cargo", "build", "--release", "--offline", "--target-dir", str(folder)]
        library = folder / "release" / "librust_kernel.so"
        subprocess.run(command, cwd=crate, check=True, stdout=subprocess.DEVNULL)
        return library
    if source.suffix == ".cc":
        include = other or str(ROOT / "include")
        command = ["c++", "-std=c++17", "-O1", "-shared", "-fPIC", f"-I{include}", str(source),
                   f"-I{ROOT}/include", "-o", str(library)]  # fmt: skip
    else:
        command = [other or sys.executable, str(source), *arguments]
    # Nothing is written outside the folder.
    environment = {**os.environ, "HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1",
                   "TILELANG_CACHE_DIR": str(folder / "cache")}  # fmt: skip
    environment.pop("PYTHONPATH", None)
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    return library


def run(name: str, other: str | None = None) -> Results:
    """Return the results of the library of an emitter."""
    with tempfile.TemporaryDirectory() as folder:
        library = emit(name, other, Path(folder))
        signatures = EMITTERS[name].signatures
        return run_library(
            str(library), runtime=find_runtime(), signatures=signatures,
            static_only=name == "tilelang", limit=20.0,
        )  # fmt: skip


def main(arguments: list[str]) -> int:
    """Write the page."""
    page, *given = arguments
    others = dict(each.split("=", 1) for each in given)
    names = [name for name, each in EMITTERS.items() if name in others or not each.foreign]
    runs = {name: run(name, others.get(name)) for name in names}
    Path(page).write_text(matrix(runs, {}) + NOTES, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
