# SPDX-License-Identifier: Apache-2.0
"""Run a command and record its calls of functions in a file.

The recording is in the file after the command has ended, however it ended; see `recording` and
`replay`.  A second process of the command writes FILE.PROCESS.  The exit status is the command's.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from ..observe._recording import CONTENTS

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command ``record`` to its parser."""
    parser.add_argument(
        "-o", "--output", metavar="FILE", default="run.tvmrec", help="default: run.tvmrec"
    )
    parser.add_argument(
        "--contents",
        choices=CONTENTS,
        default="none",
        help="contents of CPU tensors in the file (default: none)",
    )
    parser.add_argument(
        "--max-bytes", type=int, metavar="N", help="record larger contents as digests"
    )
    parser.add_argument(
        "--last", type=int, metavar="N", help="keep only about the last N calls of each thread"
    )
    parser.add_argument(
        "--name",
        action="append",
        default=[],
        metavar="NAME",
        help="record only this function, or this prefix if it ends with *; may be repeated",
    )
    parser.add_argument("words", nargs="+", metavar="-- COMMAND", help="the command")


def run(options: argparse.Namespace) -> int:
    """Replace this process by the command."""
    output = Path(options.output).resolve()
    if output.is_file():
        output.unlink()
    variables = {
        "TVM_FFI_RECORD": str(output),
        "TVM_FFI_RECORD_CONTENTS": options.contents,
        "TVM_FFI_RECORD_MAX_BYTES": options.max_bytes,
        "TVM_FFI_RECORD_LAST": options.last,
        "TVM_FFI_RECORD_NAMES": ",".join(options.name) or None,
    }
    environment = {name: text for name, text in os.environ.items() if name not in variables}
    environment.update((name, str(v)) for name, v in variables.items() if v is not None)
    os.execvpe(options.words[0], options.words, environment)
