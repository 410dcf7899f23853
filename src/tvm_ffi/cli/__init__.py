# SPDX-License-Identifier: Apache-2.0
"""The command ``tvm-ffi`` (``python -m tvm_ffi``), with one module per sub-command.

Sub-commands only parse arguments and print; functions in other modules do the work.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from .._internal.terminal import ArgumentParser, is_output_error, run_command
from .._version import __version__
from ._output import print_error

__all__ = ["main"]

# Each sub-command `x` is implemented by the module `_x`, which has the functions
# `add_arguments(parser)` and `run(options) -> status`, and a docstring whose first line is the
# summary in the help.
_COMMANDS = (
    "cache",
    "checks",
    "debug",
    "doctor",
    "inspect",
    "new",
    "provide",
    "record",
    "recording",
    "replay",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command-line arguments without the program name.  By default those of the process.

    Returns
    -------
    int
        0 on success, 1 if the output cannot be written, 2 for invalid arguments and unreadable
        files.  A sub-command may return other values, which its help describes.
    """
    status: int = run_command("tvm-ffi", lambda: _run(arguments))
    return status


def _run(arguments: Sequence[str] | None) -> int:
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
    # Names in a library may contain characters that the terminal's encoding lacks.
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        status: int = options.run(options)
    except (ImportError, OSError, ValueError) as error:
        if is_output_error(error):
            raise
        print_error(error)
        return 2
    return status
