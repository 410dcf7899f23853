# SPDX-License-Identifier: Apache-2.0
"""Create a Python package from one C or C++ file.

The file exports functions with TVM_FFI_DLL_EXPORT_SIGNATURE or
TVM_FFI_DLL_EXPORT_TYPED_FUNC_WITH_SIGNATURE.  The package has a build configuration, a module with
stubs, tests, and a README with the commands that build a wheel.  Existing files are not
overwritten.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from .._new_package import create_package
from ._output import print_line

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command ``new`` to its parser."""
    parser.add_argument("name", metavar="NAME", help="name of the distribution, as in pip install")
    parser.add_argument(
        "--from",
        dest="source",
        type=Path,
        metavar="FILE",
        help="the C or C++ file; default: a softmax in C",
    )
    parser.add_argument("--folder", type=Path, help="folder of the package; default: ./NAME")


def run(options: argparse.Namespace) -> int:
    """Create the package and print the paths of its files; return the exit status 0."""
    folder = options.folder or Path(options.name)
    for path in create_package(options.name, options.source, folder):
        print_line(str(folder / path))
    return 0
