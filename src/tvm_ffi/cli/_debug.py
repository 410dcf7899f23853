# SPDX-License-Identifier: Apache-2.0
"""Run a command and report the functions that break a rule of the ABI or of their signature.

The checks run in each Python process of the command that imports tvm_ffi.  Exit status:
  the status of the command, if it is not 0
  0  no fault was found
  1  a fault was found
  2  the arguments are invalid, or the command cannot be started
"""

from __future__ import annotations

import argparse
import sys

from .._internal.terminal import printable
from ..observe._debug_process import run_command

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command ``debug`` to its parser."""
    parser.add_argument(
        "--not-finite", action="store_true", help="also find NaN and infinity in outputs"
    )
    parser.add_argument("program", metavar="-- PROGRAM", help="the program to run")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT", help="arguments")


def run(options: argparse.Namespace) -> int:
    """Run the command, print the number of faults, and return the exit status."""
    command = [options.program, *options.arguments]
    status, faults = run_command(command, not_finite=options.not_finite)
    for fault in faults:
        where = f"{fault['function']}, {fault['argument']}".rstrip(", ")
        print(printable(f"tvm-ffi debug: {where}: {fault['rule']}"), file=sys.stderr)
    count = len(faults)
    text = {0: "no fault", 1: "1 fault"}.get(count, f"{count} faults")
    print(f"tvm-ffi debug: {text}", file=sys.stderr)
    if status != 0:
        return 128 - status if status < 0 else status
    return 1 if faults else 0
