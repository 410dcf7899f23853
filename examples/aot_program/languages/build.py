# SPDX-License-Identifier: Apache-2.0
"""Link kernels in several languages and the static runtime into one program.

``python build.py FOLDER [LANGUAGE...]`` writes the program ``FOLDER/axpy``.  Without LANGUAGE, the
script prints a message for each language whose compiler is missing, and omits the language.  For a
named LANGUAGE, a missing compiler is an error.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tvm_ffi.codegen import c

HERE = Path(__file__).resolve().parent
# The signature of each host kernel; {} is replaced by the language.
SIGNATURE = "axpy_{}(a: float, x: float64*[n] on cpu, y: inout float64*[n] on cpu)"


class MissingCompilerError(Exception):
    """Error: the compiler of a language is not installed."""


def run(*command: str | Path, cwd: Path = HERE) -> str:
    """Run a command and return its standard output."""
    words = [str(word) for word in command]
    return subprocess.run(words, cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout


def compile_c(source: Path, folder: Path) -> str:
    """Compile a C file and return the path of the object file."""
    output = folder / f"{source.stem}.o"
    flags = run("tvm-ffi-config", "--cflags").split()
    run("cc", "-std=c11", "-O2", *flags, "-c", source, "-o", output)
    return str(output)


def write_wrapper(language: str, callee: str, folder: Path) -> Path:
    """Write the generated wrapper of a C function to a file and return its path."""
    wrapper = folder / f"wrapper_{language}.c"
    text = c.wrapper(SIGNATURE.format(language), callee, arguments=["a", "x", "y", "n"])
    wrapper.write_text(text, encoding="utf-8")
    return wrapper


def build_c(folder: Path) -> list[str]:
    """Compile the C function and its generated wrapper."""
    sources = [HERE / "axpy.c", write_wrapper("c", "axpy", folder)]
    return [compile_c(source, folder) for source in sources]


def build_mojo(folder: Path) -> list[str]:
    """Compile the Mojo function and its generated wrapper."""
    if shutil.which("mojo") is None:
        raise MissingCompilerError("no mojo")
    output = folder / "axpy_mojo.o"
    run("mojo", "build", "--emit", "object", "axpy.mojo", "-o", output)
    return [str(output), compile_c(write_wrapper("mojo", "axpy_in_mojo", folder), folder)]


def build_numba(folder: Path) -> list[str]:
    """Compile the Python function and its wrapper with LLVM to an object file."""
    if importlib.util.find_spec("numba") is None:
        raise MissingCompilerError("no numba")
    from axpy_numba import axpy

    output = folder / "axpy_numba.o"
    output.write_bytes(vars(axpy)["module"].object_code())
    return [str(output)]


def build_rust(folder: Path) -> list[str]:
    """Build the Rust crate as a static archive, which contains the Rust standard library."""
    if shutil.which("cargo") is None:
        raise MissingCompilerError("no cargo")
    target = folder / "rust"
    options = ("--release", "--offline", "--quiet", "--target-dir", target)
    run("cargo", "build", *options, cwd=HERE / "rust")
    return [str(target / "release" / "libaxpy_rust.a")]


def build_triton(folder: Path) -> list[str]:
    """Compile the Triton kernel; its launch plan is C source with embedded device code."""
    if importlib.util.find_spec("triton") is None:
        raise MissingCompilerError("no triton")
    from axpy_triton import plan

    source = folder / "axpy_triton.c"
    source.write_text(c.source_of([plan]), encoding="utf-8")
    return [compile_c(path, folder) for path in (source, HERE / "gpu_memory.c")]


# For each language, the function that builds its kernel and returns the files to link.
LANGUAGES: dict[str, Callable[[Path], list[str]]] = {
    "c": build_c,
    "mojo": build_mojo,
    "numba": build_numba,
    "rust": build_rust,
    "triton": build_triton,
}
ON_GPU = {"triton"}


def build(folder: Path, chosen: list[str]) -> None:
    """Build the kernels of the chosen languages, or of all languages, and link the program."""
    folder.mkdir(parents=True, exist_ok=True)
    parts: dict[str, list[str]] = {}
    for language in chosen or LANGUAGES:
        try:
            parts[language] = LANGUAGES[language](folder)
        except MissingCompilerError as error:
            if chosen:
                raise SystemExit(f"{language}: {error}") from None
            print(f"{language:8} left out: {error}")
    linked = " ".join(
        f"X({language}, {'gpu' if language in ON_GPU else 'host'})" for language in parts
    )
    flags = run("tvm-ffi-config", "--cflags", "--minimallibs").split()
    inputs = [path for part in parts.values() for path in part]
    main = (HERE / "main.c", f"-DLANGUAGES={linked}")
    run("cc", "-std=c11", "-O2", *main, *inputs, *flags, "-o", folder / "axpy")


if __name__ == "__main__":
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= LANGUAGES.keys():
        raise SystemExit(f"usage: {sys.argv[0]} FOLDER [{'|'.join(LANGUAGES)}]...")
    build(Path(sys.argv[1]).resolve(), sys.argv[2:])
