# SPDX-License-Identifier: Apache-2.0
"""Make a Python package from one file in C or C++.

The file says what it exports with TVM_FFI_DLL_EXPORT_SIGNATURE or
TVM_FFI_DLL_EXPORT_TYPED_FUNC_WITH_SIGNATURE.  The package has a build, a module with stubs, tests
and a README that says how wheels are made of it.  Nothing that exists is overwritten.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from .._new_package import create_package
from ._output import print_line

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe what `run` understands."""
    parser.add_argument("name", metavar="NAME", help="what users will pip install")
    parser.add_argument(
        "--from",
        dest="source",
        type=Path,
        metavar="FILE",
        help="the file in C or C++; default: a softmax in C",
    )
    parser.add_argument("--folder", type=Path, help="where; default: NAME, here")


def run(options: argparse.Namespace) -> int:
    """Do it, and print the files that were written."""
    folder = options.folder or Path(options.name)
    for path in create_package(options.name, options.source, folder):
        print_line(str(folder / path))
    return 0
