# SPDX-License-Identifier: Apache-2.0
"""Inputs of a benchmark run: Python interpreters, compiled kernels, the floor extension.

All outputs are in ``build/bench`` and are rebuilt if they are missing or outdated.
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

from results import INCUMBENT, OURS

BENCHMARKS = Path(__file__).resolve().parent
ROOT = BENCHMARKS.parent
BUILD = ROOT / "build" / "bench"

sys.path.append(str(ROOT / "tools"))
from scratch_environment import (  # noqa: E402  (needs the path appended above)
    INCUMBENT_REQUIREMENT,
    SetupError,
    make_environment,
    run_program,
    without_search_paths,
)

# Packages to install beside the incumbent, at the versions of this environment.
COMPANIONS = ("numpy", "torch")


@dataclass(frozen=True)
class Interpreter:
    """A Python interpreter with a ``tvm_ffi`` package installed, ours or the incumbent's."""

    name: str
    executable: Path

    def environment(self) -> dict[str, str]:
        """Return the environment variables of its processes.

        The incumbent gets no search paths, through which it could import our package.
        """
        return without_search_paths() if self.name == INCUMBENT else dict(os.environ)

    def run(self, *arguments: str) -> str:
        """Run the interpreter and return its standard output.

        Raises
        ------
        SetupError
            If it fails; the message is the last line of its standard error.
        """
        return run_program([self.executable, *arguments], self.environment(), BENCHMARKS)


# ---- Interpreters ---------------------------------------------------------------------------


def our_interpreter() -> Interpreter:
    """Return the interpreter of this process, which has our package installed."""
    return Interpreter(OURS, Path(sys.executable))


def incumbent_interpreter(python: Path | None = None) -> Interpreter:
    """Return the incumbent's interpreter: the given one, or one in an environment made on demand.

    Raises
    ------
    SetupError
        If the environment cannot be created, for example without a package index.
    """
    if python is not None:
        return Interpreter(INCUMBENT, python)
    return Interpreter(
        INCUMBENT, make_environment(BUILD / "incumbent-venv", _incumbent_requirements())
    )


def _incumbent_requirements() -> list[str]:
    """Return the requirements: the incumbent, and this environment's array libraries."""
    requirements = [INCUMBENT_REQUIREMENT]
    for name in COMPANIONS:
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        requirements.append(f"{name}=={version.partition('+')[0]}")
    return requirements


def library_of(interpreter: Interpreter) -> Path:
    """Return the libtvm_ffi of an interpreter's package.  Raises SetupError if it has none."""
    folder = Path(interpreter.run("-m", "tvm_ffi.config", "--libdir").strip())
    library = folder / "libtvm_ffi.so"
    if not library.is_file():
        raise SetupError(f"{interpreter.name} has no libtvm_ffi.so in its library folder")
    return library


def first_library(interpreters: Sequence[Interpreter]) -> tuple[Interpreter, Path]:
    """Return the first interpreter with a libtvm_ffi, and the library.

    Raises
    ------
    SetupError
        If no interpreter has one.
    """
    reasons = []
    for interpreter in interpreters:
        try:
            return interpreter, library_of(interpreter)
        except SetupError as error:
            reasons.append(f"{interpreter.name}: {error}")
    raise SetupError("no interpreter has a libtvm_ffi (" + "; ".join(reasons) + ")")


# ---- Compiled parts -------------------------------------------------------------------------


def compile_kernels(library: Path) -> Path:
    """Compile the kernels, which all implementations load; return the shared library."""
    return _compile_c(BENCHMARKS / "call" / "kernels.c", BUILD / "kernels.so", library, [])


def compile_checking_kernels(library: Path) -> Path:
    """Compile the kernels with a no-op that checks its arguments, for the Numba rows."""
    source = BENCHMARKS / "numba_kernel" / "by_hand.c"
    return _compile_c(source, BUILD / "checking_kernels.so", library, [])


def compile_floor(library: Path) -> Path:
    """Compile the floor for this interpreter; return the extension module."""
    import numpy

    includes = [sysconfig.get_path("include"), numpy.get_include()]
    output = BUILD / f"floor{sysconfig.get_config_var('EXT_SUFFIX')}"
    return _compile_c(BENCHMARKS / "call" / "floor" / "floor.c", output, library, includes)


def compile_functions(count: int) -> Path:
    """Return a library with `count` functions `function_I` that return I; compiled once.

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
    """Compile the C++ benchmark against an implementation; return the program.

    Raises
    ------
    SetupError
        If there is no compiler, or the implementation has no headers or no library.
    """
    includes = interpreter.run("-m", "tvm_ffi.config", "--cxxflags").split()
    library = library_of(interpreter)
    link = [f"-L{library.parent}", "-ltvm_ffi", f"-Wl,-rpath,{library.parent}"]
    return _compile_cpp("api.cc", BUILD / f"cpp_api_{interpreter.name}", includes, link)


def compile_cpp_floor() -> Path:
    """Compile the floor of the C++ benchmark, which includes only the C header."""
    return _compile_cpp("floor.cc", BUILD / "cpp_api_floor", [f"-I{ROOT / 'include'}"], [])


def _compile_cpp(source: str, output: Path, includes: list[str], link: list[str]) -> Path:
    """Compile a program with the flags of kernels: C++17, -O2, position-independent."""
    output.parent.mkdir(parents=True, exist_ok=True)
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    flags = ["-std=c++17", "-O2", "-fPIC", *includes]
    path = BENCHMARKS / "cpp_api" / source
    run_program([*compiler, *flags, path, "-o", output, *link], folder=BENCHMARKS)
    return output


def _compile_c(source: Path, output: Path, library: Path, includes: Sequence[str]) -> Path:
    """Compile one C file to a shared library that needs libtvm_ffi, without an rpath.

    The process that loads it has already loaded its own libtvm_ffi.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    compiler = shlex.split(os.environ.get("CC", "cc"))
    include_flags = [f"-I{folder}" for folder in (ROOT / "include", *includes)]
    link_flags = [f"-L{library.parent}", "-ltvm_ffi"]
    flags = ["-std=gnu11", "-O2", "-shared", "-fPIC", *include_flags]
    run_program([*compiler, *flags, source, "-o", output, *link_flags], folder=BENCHMARKS)
    return output
