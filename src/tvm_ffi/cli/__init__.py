# SPDX-License-Identifier: Apache-2.0
"""The command ``tvm-ffi``, also ``python -m tvm_ffi``: one module here for each sub-command.

Sub-commands read arguments and print; the work is done by functions that programs can call as well.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from .._internal.terminal import ArgumentParser
from .._version import __version__
from ._output import print_error

__all__ = ["main"]

# Each has a module of this name, with an underscore in front: `add_arguments(parser)`,
# `run(options) -> status`, and a docstring whose first line is the line of help.
_COMMANDS = ("cache", "inspect", "new", "provide")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the name of the program; by default what it was started with.

    Returns
    -------
    int
        0 when all is well, 2 for wrong arguments and files that cannot be read; the sub-command
        says what others mean.
    """
    parser = ArgumentParser(prog="tvm-ffi", description="Tools for libraries with the TVM FFI ABI.")
    parser.add_argument("--version", action="version", version=f"tvm-ffi {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in _COMMANDS:
        module = importlib.import_module(f"._{name}", __name__)
        summary, _, description = (module.__doc__ or "").partition("\n")
        command = commands.add_parser(
            name,
            help=summary.rstrip("."),
            description=summary + description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    options = parser.parse_args(arguments)
    # Names in a library may be in any script; a terminal need not show all of them.
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        status: int = options.run(options)
        sys.stdout.flush()
    except (ImportError, OSError, ValueError) as error:
        if isinstance(error, BrokenPipeError):
            # Nobody reads on; what is left in the buffer goes nowhere, without a second error.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        print_error(error)
        return 2
    return status
