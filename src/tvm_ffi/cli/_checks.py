# SPDX-License-Identifier: Apache-2.0
"""Generate C code that checks the arguments of functions in source files.

The functions export their signatures with TVM_FFI_DLL_EXPORT_SIGNATURE or
TVM_FFI_DLL_EXPORT_TYPED_FUNC_WITH_SIGNATURE.  The output file defines functions that check their
arguments before they call the functions in the source files.  The printed compiler options rename
these functions; compile the source files with them:

    cc -shared -fPIC $(tvm-ffi checks --output FILE kernels.c) kernels.c FILE

The CMake function tvm_ffi_add_kernels runs this command.  If FILE exists, it must be a file that
this command has written, and not one of the source files.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from ..cpp._file_checks import file_checks, write_checks
from ._output import print_line

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command ``checks`` to its parser."""
    parser.add_argument(
        "--output", type=Path, required=True, metavar="FILE", help="the C or C++ file to write"
    )
    parser.add_argument(
        "sources", nargs="+", metavar="SOURCE", help="all source files of the library"
    )


def run(options: argparse.Namespace) -> int:
    """Write the output file, and print one compiler option per line; return the exit status 0.

    If no function can be checked, print nothing and remove the output file.
    """
    checks = file_checks(options.sources)
    write_checks(options.output, checks, options.sources)
    for option in () if checks is None else checks.options:
        print_line(option)
    return 0
