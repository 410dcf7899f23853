# SPDX-License-Identifier: Apache-2.0
"""Let installers see a requirement of apache-tvm-ffi as satisfied by this package.

Writes metadata into the environment, and no module; --remove takes it away again.
"""

from __future__ import annotations

import argparse

from .._internal.distribution_alias import provide, withdraw
from ._output import print_line

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe what `run` understands."""
    parser.add_argument("name", help="what packages require: apache-tvm-ffi")
    parser.add_argument("--version", metavar="V", help="which version of it; default: our level")
    parser.add_argument("--remove", action="store_true", help="take it away again")


def run(options: argparse.Namespace) -> int:
    """Do it; 1 when there is nothing to remove."""
    if not options.remove:
        print_line(f"wrote {provide(options.name, options.version)}")
        return 0
    removed = withdraw(options.name)
    print_line(f"removed {removed}" if removed else f"{options.name} was not provided")
    return 0 if removed else 1
