# SPDX-License-Identifier: Apache-2.0
"""Satisfy requirements on apache-tvm-ffi with this package.

Writes the metadata of a distribution apache-tvm-ffi without modules into the environment; --remove
removes them.  With --wheel, writes a wheel with these metadata, for lock files, images and folders
that pip searches (--find-links).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from .._internal.distribution_alias import provide, provide_wheel, withdraw
from ._output import print_line

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command ``provide`` to its parser."""
    parser.add_argument("name", help="the required distribution: apache-tvm-ffi")
    parser.add_argument(
        "--version",
        metavar="V",
        help="version to provide; default: the version of this package",
    )
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--remove", action="store_true", help="remove the metadata")
    action.add_argument(
        "--wheel", type=Path, metavar="DIR", help="write a wheel into a folder, nothing else"
    )


def run(options: argparse.Namespace) -> int:
    """Write or remove the metadata; return 1 if there is nothing to remove, otherwise 0."""
    if options.wheel is not None:
        print_line(f"wrote {provide_wheel(options.name, options.wheel, options.version)}")
        return 0
    if not options.remove:
        print_line(f"wrote {provide(options.name, options.version)}")
        return 0
    removed = withdraw(options.name)
    print_line(f"removed {removed}" if removed else f"{options.name} was not provided")
    return 0 if removed else 1
