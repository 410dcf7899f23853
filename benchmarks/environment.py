# SPDX-License-Identifier: Apache-2.0
"""What a run needs before it can measure: interpreters, compiled kernels, the floor extension.

Everything made here lies in ``build/bench`` and is made again when it is missing or outdated.
"""

from __future__ import annotations

import importlib.metadata
import os
import shlex
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from results import OURS, PEER

BENCHMARKS = Path(__file__).resolve().parent
ROOT = BENCHMARKS.parent
BUILD = ROOT / "build" / "bench"

sys.path.append(str(ROOT / "tools"))
from scratch_environment import (  # noqa: E402  (found from here on)
    PEER_REQUIREMENT,
    SetupError,
    make_environment,
    run_program,
    without_search_paths,
)

COMPANIONS = ("numpy", "torch")  # the peer gets the versions that ours runs with


@dataclass(frozen=True)
class Interpreter:
    """A Python interpreter whose environment has a ``tvm_ffi`` package, ours or the peer's."""

    name: str
    executable: Path

    def environment(self) -> dict[str, str]:
        """Return the variables for its processes: no search path leads to the other package."""
        return without_search_paths() if self.name == PEER else dict(os.environ)

    def run(self, *arguments: str) -> str:
        """Run the interpreter and return what it printed.

        Raises
        ------
        SetupError
            If it fails; the message holds the last line of its standard error.
        """
        return run_program([self.executable, *arguments], self.environment(), BENCHMARKS)


# ---- Interpreters ---------------------------------------------------------------------------


def our_interpreter() -> Interpreter:
    """Return the interpreter of this run, in whose environment ours is installed."""
    return Interpreter(OURS, Path(sys.executable))


def peer_interpreter(python: Path | None = None) -> Interpreter:
    """Return the peer's interpreter: the given one, or that of an environment made on demand.

    Raises
    ------
    SetupError
        If the environment cannot be made, for example without a package index.
    """
    if python is not None:
        return Interpreter(PEER, python)
    return Interpreter(PEER, make_environment(BUILD / "peer-venv", _peer_requirements()))


def _peer_requirements() -> list[str]:
    """Return the peer and the array libraries of this environment, at the same versions."""
    requirements = [PEER_REQUIREMENT]
    for name in COMPANIONS:
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        requirements.append(f"{name}=={version.partition('+')[0]}")
    return requirements


def library_of(interpreter: Interpreter) -> Path:
    """Return the libtvm_ffi of an interpreter's package; SetupError if there is none."""
    folder = Path(interpreter.run("-m", "tvm_ffi.config", "--libdir").strip())
    library = folder / "libtvm_ffi.so"
    if not library.is_file():
        raise SetupError(f"{interpreter.name} has no libtvm_ffi.so in its library folder")
    return library


def first_library(interpreters: Sequence[Interpreter]) -> tuple[Interpreter, Path]:
    """Return the first interpreter that has a libtvm_ffi, with it; SetupError if none has."""
    reasons = []
    for interpreter in interpreters:
        try:
            return interpreter, library_of(interpreter)
        except SetupError as error:
            reasons.append(f"{interpreter.name}: {error}")
    raise SetupError("no libtvm_ffi to run with (" + "; ".join(reasons) + ")")


# ---- Compiled parts -------------------------------------------------------------------------


def compile_kernels(library: Path) -> Path:
    """Compile the kernels, once for all implementations; return the shared library."""
    return _compile_c(BENCHMARKS / "call" / "kernels.c", BUILD / "kernels.so", library, [])


def compile_checking_kernels(library: Path) -> Path:
    """Compile the kernels with a no-op that checks its arguments, for kernels of Numba."""
    source = BENCHMARKS / "numba_kernel" / "by_hand.c"
    return _compile_c(source, BUILD / "checking_kernels.so", library, [])


def compile_floor(library: Path) -> Path:
    """Compile the floor for this interpreter; return the extension module."""
    import numpy

    includes = [sysconfig.get_path("include"), numpy.get_include()]
    output = BUILD / f"floor{sysconfig.get_config_var('EXT_SUFFIX')}"
    return _compile_c(BENCHMARKS / "call" / "floor" / "floor.c", output, library, includes)


def compile_functions(count: int) -> Path:
    """Return a library with so many functions `function_I`, which return I; made once.

    Raises
    ------
    SetupError
        If there is no compiler.
    """
    text = _FUNCTIONS + "".join(f"FUNCTION({i})\n" for i in range(count))
    source, library = BUILD / f"functions_{count}.c", BUILD / f"functions_{count}.so"
    if not library.exists() or source.read_text(encoding="utf-8") != text:
        BUILD.mkdir(parents=True, exist_ok=True)
        source.write_text(text, encoding="utf-8")
        flags = ["-std=gnu11", "-O1", "-shared", "-fPIC", f"-I{ROOT / 'include'}"]
        compiler = shlex.split(os.environ.get("CC", "cc"))
        run_program([*compiler, *flags, source, "-o", library], folder=BENCHMARKS)
    return library


_FUNCTIONS = """\
#include <tvm/ffi/c_api.h>
#define FUNCTION(I) \\
  int __tvm_ffi_function_##I(void* h, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) { \\
    *result = (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = I}; return 0; \\
  }
"""


def compile_cpp_program(interpreter: Interpreter) -> Path:
    """Compile the C++ benchmark with an implementation's headers and library; return the program.

    Raises
    ------
    SetupError
        If there is no compiler, or the implementation has no headers or library.
    """
    includes = interpreter.run("-m", "tvm_ffi.config", "--cxxflags").split()
    library = library_of(interpreter)
    link = [f"-L{library.parent}", "-ltvm_ffi", f"-Wl,-rpath,{library.parent}"]
    return _compile_cpp("api.cc", BUILD / f"cpp_api_{interpreter.name}", includes, link)


def compile_cpp_floor() -> Path:
    """Compile the floor of the C++ benchmark, which needs the C header alone."""
    return _compile_cpp("floor.cc", BUILD / "cpp_api_floor", [f"-I{ROOT / 'include'}"], [])


def _compile_cpp(source: str, output: Path, includes: list[str], link: list[str]) -> Path:
    """Compile a program as kernels are compiled: C++17, -O2 and position independent."""
    output.parent.mkdir(parents=True, exist_ok=True)
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    flags = ["-std=c++17", "-O2", "-fPIC", *includes]
    path = BENCHMARKS / "cpp_api" / source
    run_program([*compiler, *flags, path, "-o", output, *link], folder=BENCHMARKS)
    return output


def _compile_c(source: Path, output: Path, library: Path, includes: Sequence[str]) -> Path:
    """Compile one C file to a shared library that names libtvm_ffi, but no place for it.

    The process that loads it has its own libtvm_ffi loaded before.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    compiler = shlex.split(os.environ.get("CC", "cc"))
    include_flags = [f"-I{folder}" for folder in (ROOT / "include", *includes)]
    link_flags = [f"-L{library.parent}", "-ltvm_ffi"]
    flags = ["-std=gnu11", "-O2", "-shared", "-fPIC", *include_flags]
    run_program([*compiler, *flags, source, "-o", output, *link_flags], folder=BENCHMARKS)
    return output
