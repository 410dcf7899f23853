# SPDX-License-Identifier: Apache-2.0
"""The command ``tvm-ffi-config`` (``python -m tvm_ffi.config``): paths and flags for compilers.

    cc -shared -fPIC kernel.c $(tvm-ffi-config --cflags --ldflags --libs) -o kernel.so

Options may be combined; the output has one line per option, in the order of `_OPTIONS`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Callable

from . import libinfo


def _include_flags() -> str:
    # Return two -I options even if both folders are equal, because scripts expect two fields.
    return f"-I{libinfo.find_include_path()} -I{libinfo.find_dlpack_include_path()}"


def _library_folder() -> str:
    return str(Path(libinfo.find_libtvm_ffi()).parent)


def _minimal_libraries() -> str:
    archive = Path(libinfo.find_libtvm_ffi()).with_name("libtvm_ffi_static.a")
    if not archive.is_file():  # as in published wheels
        from .cpp._runtime_archive import runtime_archive

        archive = runtime_archive()
    # -lstdc++ is needed because a C compiler does not link the C++ standard library by default.
    return f"{archive} -lstdc++ -lm -lpthread -ldl"


def _static_libraries() -> str:
    return f"-Wl,-u,tvm_ffi_dynamic_loading {_minimal_libraries()}"


# The options in the order of the output: option, help text, and the function that returns the
# option's output.
_OPTIONS: tuple[tuple[str, str, Callable[[], str]], ...] = (
    ("includedir", "folder of the C and C++ headers", libinfo.find_include_path),
    ("dlpack-includedir", "folder of the DLPack header", libinfo.find_dlpack_include_path),
    ("cmakedir", "folder of the CMake package, for tvm_ffi_ROOT", libinfo.find_cmake_path),
    ("libdir", "folder of libtvm_ffi", _library_folder),
    ("libfiles", "libtvm_ffi with its folder", libinfo.find_libtvm_ffi),
    ("sourcedir", "folder of the runtime's sources", libinfo.find_source_path),
    ("rust", "folder of the Rust crate, for `cargo add --path`", libinfo.find_rust_path),
    ("cython-lib-path", "extension module that defines Function", libinfo.find_cython_lib),
    ("cxxflags", "flags for a C++ compiler", lambda: f"{_include_flags()} -std=c++17"),
    ("cflags", "flags for a C compiler", _include_flags),
    ("libs", "libraries for a linker", lambda: "-ltvm_ffi"),
    ("ldflags", "flags for a linker", lambda: f"-L{_library_folder()}"),
    ("staticlibs", "the static runtime and the libraries that it needs", _static_libraries),
    ("minimallibs", "the static runtime without support for shared libraries", _minimal_libraries),
)


def __main__() -> None:  # noqa: N807 - the package contract requires this name
    """Print the paths or flags for each option that the command line contains."""
    from ._internal.terminal import run_command  # imports of this module need only `libinfo`

    status = run_command("tvm-ffi-config", _print_chosen)
    if status != 0:
        raise SystemExit(status)


def _print_chosen() -> int:
    parser = argparse.ArgumentParser(
        prog="tvm-ffi-config", description="Print what is needed to compile and link with tvm_ffi."
    )
    for name, meaning, _ in _OPTIONS:
        parser.add_argument(f"--{name}", action="store_true", help=meaning)
    chosen = vars(parser.parse_args())
    finders = [find for name, _, find in _OPTIONS if chosen[name.replace("-", "_")]]
    if not finders:
        parser.print_help()
        return 0
    try:
        lines = [find() for find in finders]
    except (OSError, RuntimeError, ValueError) as error:
        parser.exit(1, f"{parser.prog}: error: {error}\n")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    __main__()
